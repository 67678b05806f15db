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
	1:  {"governance/conductor:TestWhere"},
	2:  {"remote/listen:TestPanic", "remote:TestAnswers", "remote:TestOddRequests", "remote/mirror:TestMirroredPresence"},
	3:  {"attention/watchdog:TestTurns", "attention/watchdog:TestProgress", "attention/watchdog:TestNotStalled", "attention/watchdog:TestPanes"},
	4:  {"attention/watchdog:TestPauses"},
	5:  {"attention/watchdog:TestTwoWatchdogs", "attention/watchdog:TestStoppedForLong", "attention/watchdog:TestCleared", "attention/watchdog:TestKilledAtEachStep"},
	6:  {"attention/watchdog:TestRequests", "attention/watchdog:TestMirroredAsker", "attention/watchdog:TestRoundFollowsRequests"},
	7:  {"attention/watchdog:TestPauses", "attention/watchdog:TestWithoutRelauncher", "attention/watchdog:TestEscalatedAgain", "governance/escalation:TestAlerts", "faces/cli/cmd:drumbeat.txtar"},
	8:  {"attention/watchdog:TestConductorGracePeriod"},
	9:  {"governance/conductor:TestSigned", "governance/conductor:TestWrongKey", "governance/conductor:TestLaunchOnce", "governance/conductor:TestLaunchAfterLockLost", "governance/conductor:TestMarkers", "faces/mcp/server:TestConductor"},
	10: {"governance/conductor:TestClaimAgain", "governance/conductor:TestTie", "governance/conductor:TestLateClock", "governance/conductor:TestClocks", "governance/conductor:TestBackdated"},
	11: {"sessions/monitor:TestKeepalive", "sessions/monitor:TestKeepaliveRuns"},
	12: {"faces/mcp/server:TestIdentities", "faces/mcp/server:TestAgreement"},
	13: {"bus/registry:TestKeys", "governance/nhi:TestOffboard", "governance/nhi:TestOffboardInterrupted", "governance/negotiation:TestOfferUnderRevokedKey", "faces/cli/cmd:identities.txtar"},
	14: {"governance/nhi:TestOverprivilege"},
	15: {"remote/mirror:TestKeySpeaksForItsAgent", "remote/mirror:TestSequenceBeyondClocks", "remote/mirror:TestMirroredPresence", "remote/instruct:TestMirrored"},
	16: {"remote:TestRecipients", "remote:TestReplayAfterRestart", "remote:TestRetryAfterFailure", "remote:TestWrongEndpoint", "remote:TestShare", "remote:TestLedgerSwept", "remote:TestSilentConnections", "remote/listen:TestStalledBodies", "remote/listen:TestTLS"},
	17: {"platform/tmux:TestTypeSubmitsOneLine", "platform/tmux:TestPasteWithoutMarks", "platform/tmux:TestShellIsNotTypedInto", "remote/instruct:TestWriteRefuses"},
	18: {"remote/fetch:TestGet", "governance/sysml:TestURL", "faces/cli/cmd:sysml.txtar"},
	19: {"faces/cli/cmd/setup:TestSidecar", "faces/cli/cmd/setup:TestKubernetesTenant"},
	20: {"faces/cli/cmd/setup:TestLatest", "faces/cli/cmd:deploy.txtar"},
	21: {"governance/org:TestRatifies", "governance/org:TestGrantsWithdrawn", "faces/cli/cmd:org.txtar"},
	22: {"remote:TestLedgerSwept", "bus/registry:TestFoldOfManyKeys", "store/filestore:TestTidyKeepsEveryByte"},
	23: {"faces/cli/cmd:prune.txtar"},
	24: {"bus/presence:TestSweep", "bus/presence:TestQuestions", "governance/conductor:TestDeadAgentWithClockAhead"},
	25: {"sessions/tracker:TestHostile", "sessions/tracker:TestLeftoverProcesses", "governance/conductor:TestParseActivity"},
	26: {"agents/setup:TestPluginQuotes"},
	27: {"governance/nhi:TestSameSPIFFE", "remote:TestIDsPerSigner"},
	28: {"governance/blocker:TestLifecycle", "governance/blocker:TestStale", "faces/mcp/server:TestBlockages", "faces/cli/cmd:blockage.txtar"},
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
			dir = filepath.Join("..", "..", filepath.FromSlash(dir))
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
