package session

import (
	"reflect"
	"testing"
)

func TestNarrowed(t *testing.T) {
	t.Parallel()
	table := func() [][]string {
		return [][]string{
			{"SESSION", "CMD", "FOLDER", "JOB", "RESUME", "DRIFT"},
			{"a", "cat", "~/api", "-", "-", "-"},
			{"b", "-", "~/api", "-", "8f1d02c6", "-"},
		}
	}
	for _, c := range []struct {
		columns int
		folder  string
		want    []string
	}{
		{0, "~/api", table()[0]},
		{43, "~/api", table()[0]},
		{40, "~/api", []string{"SESSION", "CMD", "FOLDER", "RESUME", "DRIFT"}},
		{20, "~/api", []string{"SESSION", "CMD", "RESUME", "DRIFT"}},
		{20, "~/web", []string{"SESSION", "CMD", "FOLDER", "RESUME", "DRIFT"}},
	} {
		got := Narrowed(table(), c.columns, c.folder)
		if !reflect.DeepEqual(got[0], c.want) || len(got[2]) != len(c.want) || got[2][0] != "b" {
			t.Errorf("in %d columns, in %s: %q, want %q", c.columns, c.folder, got, c.want)
		}
	}
}
