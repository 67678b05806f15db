// Package chromium starts a Chromium without a window, for tests of the web page and for pictures of it.
//
// It promises that the browser has ended when stop returns. What it is to show, the caller says by chromedp.
package chromium

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"github.com/chromedp/chromedp"
)

// ErrMissing says that no Chromium is installed.
var ErrMissing = errors.New("chromium is not installed")

// Start starts a browser with further flags. It ends with ctx, or at stop.
func Start(ctx context.Context, flags ...chromedp.ExecAllocatorOption) (page context.Context, stop func(), err error) {
	var path string
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if path, err = exec.LookPath(name); err == nil {
			break
		}
	}
	if err != nil {
		return nil, nil, ErrMissing
	}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.Headless, chromedp.NoFirstRun, chromedp.DisableGPU}
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	browser, end := chromedp.NewExecAllocator(ctx, append(options, flags...)...)
	page, leave := chromedp.NewContext(browser)
	return page, func() { leave(); end() }, nil
}
