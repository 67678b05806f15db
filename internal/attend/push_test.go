package attend

import (
	"testing"
	"time"
)

func TestBacklogThenNews(t *testing.T) {
	fake(t, nil, func(t *testing.T, r *rig) {
		p := r.peer("sess:p")
		r.put("env:1:a", "env:2:b")
		r.open("sess:me")
		r.want(
			old(joined("sess:me", "sess:p")),
			old(arrived("sess:me", "env:1:a")), old(arrived("sess:me", "env:2:b")),
		)
		r.put("env:3:c")
		r.want(arrived("sess:me", "env:3:c"))
		r.close(p)
		r.want(left("sess:me", "sess:p"))
		time.Sleep(10 * time.Minute)
		r.want()
		r.wantLog()
	})
}
