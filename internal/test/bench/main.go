// Command benchtool measures what the project promises about speed and size, and writes the figures into docs/performance.md.
//
// It promises that a figure and the thing it is compared with come from the same run, on the same folders, one after
// the other in turns: a process against an empty program that was built with the same flags, a stored document against
// the same system calls without the store. Each row is measured three times in fresh folders and the best round counts,
// because what else a machine does can only add. Absolute figures are those of the machine that the table names.
//
// Programs are measured as they are installed (see install), ours and the empty one. Where ours makes files and the empty one
// makes none, the folder lies where nothing was removed lately (see apart).
//
// A row is a value of type row in the file of its subject; adding one takes a name, a target and a function that
// measures one round.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"tutti/internal/test/progfile"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// errMissed is the end of a strict run in which a target was missed.
var errMissed = errors.New("a target was missed")

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("benchtool", flag.ContinueOnError)
	bin := flags.String("bin", "bin", "folder of the built programs")
	page := flags.String("page", "", "file whose table is rewritten; empty: print only")
	only := flags.String("only", "", "measure only the rows whose subject or work matches this expression; the file is then left alone")
	strict := flags.Bool("strict", false, "exit with status 1 when a target is missed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	e, err := newEnv(ctx, *bin)
	if err != nil {
		return err
	}
	defer e.close()

	done, err := measureAll(e, match)
	if err != nil {
		return err
	}
	if *page != "" && *only == "" {
		if err := rewrite(*page, table(done, machine(e.dir))); err != nil {
			return err
		}
		fmt.Println("rewritten: the table in", *page)
	}
	for _, r := range done {
		if *strict && !r.ok() {
			return errMissed
		}
	}
	return nil
}

// measureAll measures the rows that match and prints each as soon as it is known. Rows about verbs that the program does not
// have are named and left out.
func measureAll(e *env, match *regexp.Regexp) ([]row, error) {
	var done []row
	matched := false
	fmt.Println(machine(e.dir))
	for _, r := range rows() {
		if !match.MatchString(r.subject + ": " + r.work) {
			continue
		}
		matched = true
		err := r.measure(e)
		if none, ok := errors.AsType[*noVerbError](err); ok {
			fmt.Printf("%s | %s | left out: %s\n", r.subject, r.work, none)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", r.subject, r.work, err)
		}
		fmt.Println(strings.Join(r.cells(), " | "))
		done = append(done, r)
	}
	if !matched {
		return nil, errors.New("no row matches")
	}
	return done, nil
}

// rows is the table in the order in which it is printed.
func rows() []row {
	var all []row
	for _, subject := range [][]row{programRows(), storeRows(), busRows(), mcpRows(), hookRows(), floodRows(), sessionRows(), screenRows(), commsRows(), agreementRows(), conductorRows(), blockageRows(), remoteRows(), drumbeatRows(), haltRows()} {
		all = append(all, subject...)
	}
	return all
}

// An env is what every measurement needs: the programs and a folder that goes away at the end.
type env struct {
	ctx   context.Context
	tutti string // the built program
	floor string // an empty program, built with the same flags
	dir   string // temporary; rounds make folders in it
}

func newEnv(ctx context.Context, bin string) (*env, error) {
	abs, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tutti-bench-")
	if err != nil {
		return nil, err
	}
	e := &env{ctx: ctx, tutti: filepath.Join(dir, "tutti"), floor: filepath.Join(dir, "floor"), dir: dir}
	built, err := buildFloor(ctx, dir)
	if err == nil {
		err = install(built, e.floor)
	}
	for _, name := range []string{"tutti", "tutti-full"} { // the second lies beside the first
		if e := install(filepath.Join(abs, name), filepath.Join(dir, name)); err == nil && e != nil {
			err = fmt.Errorf("%w (make build)", e)
		}
	}
	if err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// full is the program that links everything; it lies beside the other one.
func (e *env) full() string { return filepath.Join(filepath.Dir(e.tutti), "tutti-full") }

// install copies a program. The linker writes page by page through a mapping, and the system keeps such a file in single
// pages until it is read anew: each process that runs it takes a twentieth longer than one of a copy, which lies in larger
// pieces as every installed program does.
func install(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return progfile.Write(to, data, 0o700)
}

func (e *env) close() {
	if err := os.RemoveAll(e.dir); err != nil {
		fmt.Fprintln(os.Stderr, "bench: left behind:", err)
	}
}

// fresh makes an empty folder for one round.
func (e *env) fresh() (string, error) { return os.MkdirTemp(e.dir, "round-") }

// apart is fresh for a round that makes files and is compared with something that makes none, makes them another way, or is
// said of fresh folders. ext4 without a journal does not use the place of a removed file again for a minute to six, and looks
// at each such place when it makes a file near by: after a round that has removed ten thousand files a new one takes several
// times as long. An empty program would not show it, and a bare file next to which ours takes as much again would hide it.
func (e *env) apart() (string, error) {
	top, err := os.MkdirTemp(e.dir, "apart-")
	if err != nil {
		return "", err
	}
	spread(top)
	return os.MkdirTemp(top, "round-")
}
