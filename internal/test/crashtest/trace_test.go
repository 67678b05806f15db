package crashtest

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// An event is one system call as strace wrote it.
type event struct {
	tid  int
	name string
	args []string // as printed; strings still quoted
	ret  int      // -1 when the call failed
	nth  int      // the how manieth call of that name this thread made, from 1: what strace counts for an injection
}

func (e event) String() string {
	return fmt.Sprintf("%s(%s) = %d", e.name, strings.Join(e.args, ", "), e.ret)
}

// str returns argument i without its quotes.
func (e event) str(i int) string {
	s, err := strconv.Unquote(e.args[i])
	if err != nil {
		panic(fmt.Sprintf("%v: argument %d is not a string: %v", e, i, err))
	}
	return s
}

// num returns argument i as a number; AT_FDCWD is -100.
func (e event) num(i int) int {
	if e.args[i] == "AT_FDCWD" {
		return -100
	}
	n, err := strconv.Atoi(e.args[i])
	if err != nil {
		panic(fmt.Sprintf("%v: argument %d is not a number", e, i))
	}
	return n
}

// readTrace reads the output of strace -f -x -s <large>. Calls that another thread interrupted are joined; their place in
// the order is where they ended.
func readTrace(path string) ([]event, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var events []event
	open := map[int]string{}
	count := map[string]int{}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		tidText, rest, ok := strings.Cut(sc.Text(), " ")
		tid, err := strconv.Atoi(tidText)
		if !ok || err != nil {
			return nil, fmt.Errorf("trace line %q", sc.Text())
		}
		rest = strings.TrimLeft(rest, " ")
		if head, cut := strings.CutSuffix(rest, " <unfinished ...>"); cut {
			open[tid] = head
			continue
		}
		if strings.HasPrefix(rest, "<... ") {
			_, tail, _ := strings.Cut(rest, " resumed>")
			rest = open[tid] + tail
			delete(open, tid)
		}
		e, ok := parseCall(rest)
		if !ok {
			continue // signals and exits
		}
		e.tid = tid
		id := fmt.Sprint(tid, e.name)
		count[id]++
		e.nth = count[id]
		events = append(events, e)
	}
	return events, sc.Err()
}

// parseCall splits `name(a, "b", {c, d}) = 3`.
func parseCall(s string) (event, bool) {
	name, rest, ok := strings.Cut(s, "(")
	if !ok || strings.ContainsAny(name, " +-<") {
		return event{}, false
	}
	e := event{name: name, ret: -1}
	depth, quoted, from := 0, false, 0
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[' || c == '(':
			depth++
		case depth == 0 && (c == ',' || c == ')'):
			if arg := strings.TrimSpace(rest[from:i]); arg != "" {
				e.args = append(e.args, arg)
			}
			from = i + 1
			if c == ')' {
				_, ret, _ := strings.Cut(rest[i:], "= ")
				ret, _, _ = strings.Cut(ret, " ")
				if n, err := strconv.Atoi(ret); err == nil {
					e.ret = n
				}
				return e, true
			}
		case c == '}' || c == ']' || c == ')':
			depth--
		}
	}
	return event{}, false
}
