package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"tutti/internal/test/chromium"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A shot is a picture of a page.
type shot struct {
	name, scheme  string
	width, height int64
}

// shots are the pictures of the web page, and sites those of the documentation that it serves.
var (
	shots = []shot{{"web-light", "light", 1100, 900}, {"web-dark", "dark", 1100, 900}, {"web-phone-light", "light", 390, 844}, {"web-phone-dark", "dark", 390, 844}}
	sites = []shot{{"site", "light", 1100, 900}, {"site-phone", "light", 390, 844}}
)

// page takes pictures of "tutti web" in Chromium.
func (h *home) page(save saver) error {
	server := h.command("src/shop", "tutti", "web", "--no-open", "--json")
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	defer func() {
		_ = server.Process.Signal(syscall.SIGINT)
		_ = server.Wait() // it ends with 130
	}()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return err
	}
	var link struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(line, &link); err != nil {
		return err
	}
	ctx, late := context.WithTimeout(h.ctx, 2*time.Minute)
	defer late()
	ctx, stop, err := chromium.Start(ctx, chromedp.Flag("force-prefers-reduced-motion", true)) // pictures that move show their end
	if err != nil {
		return err
	}
	defer stop()
	err = chromedp.Do(ctx, chromedp.Navigate(link.URL))
	if err == nil {
		err = ready(ctx)
	}
	text := ""
	if err == nil {
		text, err = chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	}
	if secret := h.private(text); secret != "" {
		err = fmt.Errorf("it shows %s", secret)
	}
	for _, s := range shots {
		if err != nil {
			return fmt.Errorf("the web page: %w", err)
		}
		err = take(ctx, s, save)
	}
	if err == nil {
		err = documentation(ctx, link.URL, save)
	}
	return err
}

// documentation takes pictures of README as the site shows it.
func documentation(ctx context.Context, login string, save saver) error {
	page, err := url.Parse(login)
	if err != nil {
		return err
	}
	page.Path, page.RawQuery = "/docs/", ""
	if err := chromedp.Do(ctx, chromedp.Navigate(page.String()), chromedp.WaitReady("main img")); err != nil {
		return fmt.Errorf("the documentation: %w", err)
	}
	for _, s := range sites {
		if err := take(ctx, s, save); err != nil {
			return fmt.Errorf("the documentation: %w", err)
		}
	}
	return nil
}

// ready waits until the page is live and shows the agents.
func ready(ctx context.Context) (err error) {
	const is = `location.pathname === "/" && document.getElementById("connection").textContent.startsWith("live") && document.body.innerText.includes("glossary")`
	for range 20 { // a page that moves on answers with an error
		if _, err = chromedp.Run(ctx, chromedp.Poll[bool](is, chromedp.WithPollingTimeout(time.Second))); err == nil {
			return nil
		}
	}
	return err
}

func take(ctx context.Context, s shot, save saver) error {
	colours := chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: s.scheme},
		}})
		return err
	})
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(s.width, s.height), colours); err != nil {
		return err
	}
	raw, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	small, err := fewColours(raw)
	if err != nil {
		return err
	}
	return save(s.name+".png", string(small))
}

// fewColours writes a picture with the 256 colours that it has most of. A page of text looks the same in half the bytes.
func fewColours(raw []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	count := map[color.Color]int{}
	bounds := from.Bounds()
	for y := range bounds.Max.Y {
		for x := range bounds.Max.X {
			count[from.At(x, y)]++
		}
	}
	var palette color.Palette
	for c := range count {
		palette = append(palette, c)
	}
	slices.SortFunc(palette, func(a, b color.Color) int {
		if n := count[b] - count[a]; n != 0 {
			return n
		}
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	palette = palette[:min(len(palette), 256)]
	nearest := map[color.Color]uint8{}
	for c := range count {
		nearest[c] = uint8(palette.Index(c)) //nolint:gosec // there are 256
	}
	to := image.NewPaletted(bounds, palette)
	for y := range bounds.Max.Y {
		for x := range bounds.Max.X {
			to.SetColorIndex(x, y, nearest[from.At(x, y)])
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to)
	return out.Bytes(), err
}
