package lifecycle

import (
	"errors"
	"fmt"
	"strings"

	"tutti/internal/sessions/registry"
)

// argvOf is the command of a row as a list of words. The member start_command counts where it is not what was written here for the list
// beside it: older programs write nothing else, and people edit it. No shell reads it.
func argvOf(r *registry.Row) ([]string, error) {
	if r.StartCommand == "" || madeHere(r) {
		return r.StartArgv, nil
	}
	argv, err := words(r.StartCommand)
	if err != nil {
		return nil, &Error{
			Kind: Refused, Session: r.Name, Text: fmt.Sprintf("its start_command cannot be started without a shell: %.300q", r.StartCommand), Err: err,
			Next: fmt.Sprintf("edit it to a program and its arguments, or say them: tutti session create --session %s -- ARGUMENTS", r.Name),
		}
	}
	return argv, nil
}

// madeHere tells whether the command of a row, as it is shown, is the one that was written here.
func madeHere(r *registry.Row) bool {
	return len(r.StartArgv) > 0 && r.StartCommand == shown(r.StartArgv)
}

// words splits a command line into its words, as a shell does, and refuses what only a shell could do.
func words(line string) (all []string, err error) {
	const special = "$`;|&<>()*?[]{}~#!\n"
	var word strings.Builder
	in := false // a word has begun
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			if in {
				all = append(all, word.String())
				word.Reset()
				in = false
			}
		case c == '\'' || c == '"':
			end := i + 1
			for ; end < len(line) && line[end] != c; end++ {
				if c == '"' && line[end] == '\\' && end+1 < len(line) && strings.IndexByte(`"\$`+"`", line[end+1]) >= 0 {
					end++
				} else if c == '"' && (line[end] == '$' || line[end] == '`') {
					return nil, errors.New("it has a variable or a command in it")
				}
				word.WriteByte(line[end])
			}
			if end >= len(line) {
				return nil, errors.New("a quotation mark is not closed")
			}
			i, in = end, true
		case c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			in = true
		case strings.IndexByte(special, c) >= 0:
			return nil, fmt.Errorf("%q is for a shell", c)
		default:
			word.WriteByte(c)
			in = true
		}
	}
	if in {
		all = append(all, word.String())
	}
	if len(all) == 0 || strings.Contains(all[0], "=") {
		return nil, errors.New("it does not begin with a program")
	}
	return all, nil
}
