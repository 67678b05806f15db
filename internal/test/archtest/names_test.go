package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// maxTestName is the length of the longest test name that fits beside its package in the output of a failed run.
const maxTestName = 40

var (
	testName = regexp.MustCompile(`^(Test|Fuzz|Benchmark)([A-Z]|$)`)
	// riddle matches words that make a test name a sentence, which does not tell what was tested.
	riddle = regexp.MustCompile(`(Somebody|Nobody|Anybody|Whoever|Who|Whom|What|Told|Heard|Hears|Meant|Wanted|IsNo|AreNo|ThatIs|ThatAre)([A-Z]|$)`)
)

// TestTestNames: the name of a test says what is tested, as in TestSendRefusesUnknownRecipient.
func TestTestNames(t *testing.T) {
	t.Parallel()
	for path, p := range load(t) {
		if own(path) == "" {
			continue
		}
		for _, file := range p.TestFiles {
			data, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			report(t, testNamesIn(path+"/"+file, data))
		}
	}
}

// testNamesIn finds the test names of one file that are too long or contain a riddle.
func testNamesIn(path string, src []byte) (faults []string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, src, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !testName.MatchString(f.Name.Name) {
			continue
		}
		if len(f.Name.Name) > maxTestName {
			faults = append(faults, fmt.Sprintf("%s: %s is longer than %d letters", path, f.Name.Name, maxTestName))
		}
		if match := riddle.FindStringSubmatch(f.Name.Name); match != nil {
			faults = append(faults, fmt.Sprintf("%s: %s does not say what is tested: avoid %q in the name of a test", path, f.Name.Name, match[1]))
		}
	}
	return faults
}

func TestTestNameFaults(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"TestReadLimit": 0, "TestMessageIsNotStored": 0, "TestWholeFile": 0, "testNobody": 0, "Testament": 0,
		"TestNobodyIsTold": 1, "TestFileIsNo": 1, "FuzzWhatIsRead": 1, "TestSendRefusesUnknownRecipientOfAnotherProject": 1,
	} {
		src := "package p\nfunc " + name + "() {}\nfunc (r rig) TestNobody() {}\n"
		if got := testNamesIn("a_test.go", []byte(src)); len(got) != want {
			t.Errorf("%s: got %q, want %d faults", name, got, want)
		}
	}
}
