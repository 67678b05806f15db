package exchange

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/test/commstest"
	"tutti/internal/test/hometest"
)

// crowd fills a mailbox with messages of other conversations.
func crowd(b *testing.B, box string, n int) {
	b.Helper()
	must(b, os.MkdirAll(box, 0o700))
	for i := range n {
		at := start.Add(time.Duration(i) * time.Second)
		name, err := protocol.FormatName(at, "web", fmt.Sprint("other-", i%100))
		must(b, err)
		for _, end := range []string{"", ".asc"} {
			must(b, os.WriteFile(filepath.Join(box, name+end), []byte("x"), 0o600))
		}
	}
}

func benchOffice(b *testing.B) (*Service, Project) {
	o := testOffice(hometest.Dir(b))
	o.GPG = commstest.NewKeyring(b, []commstest.Who{commstest.Alice}).Program()
	o.Now = func() time.Time { return start }
	for _, name := range []string{"web", "notes"} {
		must(b, os.MkdirAll(filepath.Join(o.Home, "projects", name, ".ai"), 0o700))
	}
	return o, Project{"notes", filepath.Join(o.Home, "projects", "notes")}
}

// BenchmarkSend and BenchmarkReceive are without gpg: its time is measured in package gpg.
func BenchmarkSend(b *testing.B) {
	for _, many := range []int{0, 10_000} {
		b.Run(fmt.Sprint("mailbox=", many), func(b *testing.B) {
			o, p := benchOffice(b)
			crowd(b, p.MailboxPath(), many)
			web := Project{"web", filepath.Join(o.Home, "projects", "web")}
			n := 0
			for b.Loop() {
				n++
				_, err := o.Send(b.Context(), Draft{
					Destination: "local.notes", Sender: "web", Project: web, NoSign: true, KeepTimestamp: true,
					Text: note{conv: fmt.Sprint("talk-", n), kind: "request", seq: 1}.text(),
				})
				must(b, err)
			}
		})
	}
}

func BenchmarkReceive(b *testing.B) {
	for _, many := range []int{0, 10_000} {
		b.Run(fmt.Sprint("mailbox=", many), func(b *testing.B) {
			o, p := benchOffice(b)
			crowd(b, p.MailboxPath(), many)
			text := note{conv: "talk", kind: "request", seq: 1}.text()
			const name = "20260427T100000Z-from-web-talk.org"
			must(b, os.MkdirAll(p.MailboxPath(), 0o700))
			must(b, os.WriteFile(filepath.Join(p.MailboxPath(), name), text, 0o600))
			must(b, os.WriteFile(filepath.Join(p.MailboxPath(), name+".asc"), commstest.Sign(b, commstest.Alice, text), 0o600))
			var lines bytes.Buffer
			for i := range many {
				e := Entry{start, fmt.Sprint(i, ".org"), fmt.Sprint("other-", i%100), i, hashOf([]byte(fmt.Sprint(i))), "request", "A", "process", false}
				lines.Write(append(e.line(), '\n'))
			}
			must(b, os.MkdirAll(o.StatePath("ledger"), 0o700))
			must(b, os.WriteFile(o.Ledger(p).Path(), lines.Bytes(), 0o600))
			for b.Loop() {
				j, err := o.Receive(b.Context(), filepath.Join(p.MailboxPath(), name), ReceiveOptions{NoVerify: true, NoLedger: false})
				if err != nil || j.Word != protocol.Process {
					b.Fatalf("%+v, %v", j, err)
				}
			}
		})
	}
}
