package remote

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
)

// TestAway: an endpoint that another machine has registered is not connected to if it resolves to this machine, whatever its name. One that
// the user has named is.
func TestAway(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer s.Close()
	for _, to := range []string{s.URL, strings.Replace(s.URL, "127.0.0.1", "localhost", 1)} {
		_, err := (&Client{Away: true}).Submit(t.Context(), to, []byte("{}"))
		if here, ok := errors.AsType[*HereError](err); !ok || here.Hint() == "" || asked.Load() != 0 {
			t.Errorf("%s: %v, asked %d times; want that it is not connected to", to, err, asked.Load())
		}
		if r, err := (&Client{}).Submit(t.Context(), to, []byte("{}")); err != nil || r.Status/100 != 2 || asked.Swap(0) != 1 {
			t.Errorf("%s, named by the user: %+v %v", to, r, err)
		}
	}
	for text, want := range map[string]bool{
		"10.0.0.7": true, "2001:db8::1": true, "127.8.9.1": false, "::1": false, "::ffff:127.0.0.1": false, "0.0.0.0": false, "::": false,
		"169.254.169.254": false, "fe80::1%eth0": false, "224.0.0.1": false,
	} {
		if got := LeadsAway(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if err := away("tcp", "far.example:80", nil); err == nil {
		t.Error("an invalid address was accepted")
	}
}
