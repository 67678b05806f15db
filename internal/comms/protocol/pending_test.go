package protocol

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestListMailbox(t *testing.T) {
	t.Parallel()
	const a, b = "20260427T085611Z-from-alpha-q.org", "20260427T085700Z-from-web-q.org"
	l := ListMailbox([]DirEntry{
		{b, false},
		{"artifacts", true},
		{a + ".asc", false},
		{"x.org", false},
		{a, false},
		{"20260427T085612Z-from-web-q.org", true},
		{".hidden", true},
		{"X", false},
		{b + ".asc.tmp", false},
	})
	if !slices.Equal(l.Messages, []string{a, b}) || !slices.Equal(l.Unsigned, []string{b}) || !slices.Equal(l.Foreign, []string{"x.org", "X", b + ".asc.tmp"}) {
		t.Errorf("got %+v", l)
	}
}

func TestLatestWaiting(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	for _, c := range []struct {
		items    []Item
		releases map[string]time.Time
		want     string // places that wait, the latest
	}{
		{nil, nil, "[] -1"},
		{[]Item{{"1", "q", Request, at(2), false, false}, {"2", "r", Request, at(1), false, false}}, nil, "[0 1] 0"},
		{[]Item{{"1", "q", Request, at(1), false, false}, {"2", "q", Request, at(1), false, false}}, nil, "[0 1] 1"},
		{[]Item{{"1", "q", Release, at(1), false, false}, {"2", "q", Progress, at(2), false, false}}, nil, "[1] 1"},
		{[]Item{{"1", "q", Request, at(1), false, false}, {"2", "q", Request, at(9), false, false}}, map[string]time.Time{"q": at(5)}, "[1] 1"},
		{[]Item{{"1", "q", Request, at(1), false, false}, {"2", "q", Release, at(4), false, false}, {"3", "q", Query, at(5), false, false}}, map[string]time.Time{"q": at(3)}, "[2] 2"},
		{[]Item{{"1", "q", Request, at(1), false, false}}, map[string]time.Time{"r": at(5)}, "[0] 0"},
		{[]Item{{"20260427T130000Z-from-a-q.org", "", "", time.Time{}, true, false}, {"2", "q", Request, at(1), false, false}}, nil, "[0 1] 0"},
		// Releases that would be refused: without a signature, from too far in the future, under the name of another hour.
		{[]Item{{"1", "q", Request, at(1), false, false}, {"2", "q", Release, at(2), false, true}}, nil, "[0 1] 1"},
		{[]Item{{"1", "q", Request, at(1), false, true}, {"2", "q", Release, at(2), false, false}}, nil, "[] -1"},
		{[]Item{{"1", "q", Request, at(1), false, false}, {"2", "q", Release, at(25*60 + 1), false, false}}, nil, "[0 1] 1"},
		{[]Item{{"1", "q", Request, at(1), false, false}, {"2", "q", Release, at(60 + 10), false, false}}, nil, "[] -1"},
		{[]Item{{"1", "q", Request, at(1), false, false}, {"2", "q", Release, at(60 + 11), false, false}}, nil, "[0 1] 1"},
		{[]Item{{"1", "q", Request, at(1), false, false}, {"20260427T115030Z-from-a-q.org", "q", Release, at(6), false, false}}, nil, "[0 1] 1"},
		{[]Item{{"1", "q", Request, at(1), false, false}, {"20260427T115030Z-from-a-q.org", "q", Release, at(5), false, false}}, nil, "[] -1"},
		{[]Item{{"x.org", "", Release, time.Time{}, true, false}, {"2", "", Request, at(1), false, false}}, nil, "[0 1] 1"},
	} {
		w := Pending(c.items, c.releases, noon.Add(time.Hour))
		if got := fmt.Sprint(append([]int{}, w.Pending...), w.Latest); got != c.want {
			t.Errorf("%v beside %v: got %s, want %s", c.items, c.releases, got, c.want)
		}
	}
}

// Projects are in one order, whatever order they were found in.
func TestCompareProjects(t *testing.T) {
	t.Parallel()
	type project struct {
		name    string
		pending int
	}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfDistinct(rapid.Custom(func(t *rapid.T) project {
			return project{rapid.StringMatching(`[a-c]{1,3}`).Draw(t, "name"), rapid.IntRange(0, 2).Draw(t, "pending")}
		}), func(p project) string { return p.name }).Draw(t, "projects")
		slices.SortFunc(list, func(a, b project) int { return CompareProjects(a.name, a.pending, b.name, b.pending) })
		for i := 1; i < len(list); i++ {
			a, b := list[i-1], list[i]
			if a.pending == 0 && b.pending > 0 || (a.pending > 0) == (b.pending > 0) && a.name >= b.name {
				t.Fatalf("%v", list)
			}
		}
	})
}

// A message of another version waits like any other as long as it says where it belongs.
func TestItem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m    Message
		want bool
	}{
		{Message{Conversation: "q", Time: noon, Version: "6"}, false},
		{Message{Conversation: "q"}, true},
		{Message{Time: noon}, true},
	} {
		if got := c.m.Item("x"); got.Unreadable != c.want || got.Name != "x" || got.Conversation != c.m.Conversation {
			t.Errorf("%+v: got %+v", c.m, got)
		}
	}
}
