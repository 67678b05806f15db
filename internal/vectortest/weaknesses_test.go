package vectortest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// weaknesses are those of existing programs, by the numbers that stand beside expectations in this package, and the tests that show what this
// program does instead: of a package, or a script of the command line.
var weaknesses = map[int][]string{
	1:  {"conductor:TestWhere"},
	2:  {"remote/door:TestPanic", "remote:TestAnswers", "remote:TestOddRequests", "remote/mirror:TestShown"},
	3:  {"drumbeat:TestTurns", "drumbeat:TestProgress", "drumbeat:TestLeftAlone", "drumbeat:TestPanes"},
	4:  {"drumbeat:TestPauses"},
	5:  {"drumbeat:TestTwoDrums", "drumbeat:TestStoppedForLong", "drumbeat:TestCleared", "drumbeat:TestKilledAtEachStep"},
	6:  {"drumbeat:TestRequests", "drumbeat:TestMirroredAsker", "drumbeat:TestBeatFollowsMail"},
	7:  {"drumbeat:TestPauses", "drumbeat:TestDry", "drumbeat:TestToldAgain", "escalation:TestAlerts", "cli:drumbeat.txtar"},
	8:  {"drumbeat:TestFailsafe"},
	9:  {"conductor:TestSigned", "conductor:TestWrongKey", "conductor:TestLaunchOnce", "conductor:TestLaunchLost", "conductor:TestMarkers", "mcpserver:TestConductor"},
	10: {"conductor:TestClaimAgain", "conductor:TestTie", "conductor:TestLateClock", "conductor:TestClocks", "conductor:TestBackdated"},
	11: {"session:TestKeepalive", "session:TestKeepaliveRuns"},
	12: {"mcpserver:TestIdentities", "mcpserver:TestAgreement"},
	13: {"registry:TestKeys", "nhi:TestOffboard", "nhi:TestOffboardCutOff", "negotiation:TestOfferUnderRevokedKey", "cli:identities.txtar"},
	14: {"nhi:TestOverprivilege"},
	15: {"remote/mirror:TestNobodyElse", "remote/mirror:TestFence", "remote/mirror:TestShown", "remote/drive:TestMirrored"},
	16: {"remote:TestRecipients", "remote:TestReplayAfterRestart", "remote:TestRetryAfterFailure", "remote:TestElsewhere", "remote:TestShare", "remote:TestLedgerSwept", "remote:TestSilent", "remote/door:TestStalledBodies", "remote/door:TestTLS"},
	17: {"tmux:TestTypeSubmitsOneLine", "tmux:TestPasteWithoutMarks", "tmux:TestShellIsNotTypedInto", "remote/drive:TestWriteRefuses"},
	18: {"sysml/fetch:TestGet", "sysml:TestURL", "cli:sysml.txtar"},
	19: {"deploy:TestSidecar", "deploy:TestTenant"},
	20: {"upgrade:TestLatest", "cli:deploy.txtar"},
	21: {"org:TestRatifies", "org:TestGrantsWithdrawn", "cli:org.txtar"},
	22: {"drumbeat:TestCacheNotices", "remote:TestLedgerSwept", "registry:TestFoldOfManyKeys", "store/filestore:TestTidyKeepsEveryByte"},
	23: {"cli:prune.txtar"},
	24: {"presence:TestSweep", "presence:TestQuestions", "conductor:TestDeadAhead"},
	25: {"track:TestHostile", "track:TestLeft", "conductor:TestParseActivity"},
	26: {"host:TestPluginQuotes"},
	27: {"nhi:TestSameSPIFFE", "remote:TestIDsOfAnother"},
	28: {"blockage:TestLifecycle", "blockage:TestStale", "mcpserver:TestBlockages", "cli:blockage.txtar"},
}

// TestWeaknesses finds a weakness without a test, and a test that is gone or has another name.
func TestWeaknesses(t *testing.T) {
	const all = 28
	sources := map[string]string{}
	for n := 1; n <= all; n++ {
		if len(weaknesses[n]) == 0 {
			t.Errorf("W%d: no test shows what is done instead", n)
		}
		for _, name := range weaknesses[n] {
			dir, test, _ := strings.Cut(name, ":")
			dir = filepath.Join("..", filepath.FromSlash(dir))
			if strings.HasSuffix(test, ".txtar") {
				if _, err := os.Stat(filepath.Join(dir, "testdata", "script", test)); err != nil {
					t.Errorf("W%d: %v", n, err)
				}
				continue
			}
			if _, read := sources[dir]; !read {
				sources[dir] = testsOf(t, dir)
			}
			if !regexp.MustCompile(`(?m)^func ` + test + `\(t \*testing\.T\)`).MatchString(sources[dir]) {
				t.Errorf("W%d: there is no test %s", n, name)
			}
		}
	}
	if len(weaknesses) != all {
		t.Errorf("%d weaknesses, want %d", len(weaknesses), all)
	}
}

// testsOf is the text of the tests of a package.
func testsOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(raw)
	}
	return text.String()
}
