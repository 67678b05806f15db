package govern

import (
	"encoding/json"

	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/model"
)

var ModelVerbs = []kit.Verb{
	{
		Name: "model list", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Indifferent, Run: runModelList,
		Result: []model.Word{},
		Short:  "what there is to describe how parties work together",
		Does: `Lists what "tutti model show" shows: the grid of ten questions, the vocabulary, what always holds, a form to begin
with, the patterns of the library and the profiles.`,
		Examples: "$ tutti model list",
		Exit:     "0 done; 1 wrong usage",
		See:      "profile list",
	},
	{
		Name: "model show", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Indifferent, MinArgs: 1, MaxArgs: 1, Offer: kit.Topics, Run: runModelShow,
		Result: render.OneOf{[]model.Word{}, pattern{}, profileView{}, json.RawMessage{}},
		Short:  "show grid, vocabulary, a pattern, a profile or a form",
		Args:   "<name>",
		Does: `Shows one of: grid, vocabulary, invariants, form, a pattern of the library (A to E), or a profile by its whole
name. The form is a proposal that is whole; redirect it into a file, change it, and check it.`,
		Examples: `$ tutti model show grid
$ tutti model show form`,
		Exit: "0 done; 1 there is no such thing, or wrong usage",
		See:  "profile show",
	},
	{
		Name: "model check", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Indifferent, MinArgs: 1, MaxArgs: 1, Offer: kit.Files, Opts: kit.WithFlags(runModelCheck),
		Result: model.View{},
		Short:  "check a proposal of how parties work together",
		Args:   "<file>",
		Flags:  []kit.Flag{{Name: "profile", Kind: kit.Text, Value: "id", Default: "the one that the proposal names", Offer: kit.Profiles, Help: "check it against this profile"}},
		Does: `Checks a proposal that was made by the grid: whether all ten questions are answered, whether what always holds is kept, and
what of it the profile does not allow; and says which profile is nearest. <file> holds the proposal as JSON, alone or in a fenced
block of a Markdown page; - is standard input.

A breach is against what always holds. Open is what is not answered yet, or what the profile does not allow. A remark is lawful,
and worth a thought. With --json: {ok, profile, grid, findings: [{code, weight, subject, text}], more, nearest}.`,
		Wont:     "It looks at no bus, and cannot tell whether a proposal is wise.",
		Examples: "$ tutti model check proposal.json\n$ tutti model check --profile B_ECOSYSTEM proposal.json",
		Exit:     "0 it is whole, with remarks at most; 1 wrong usage, or there is no proposal in it; 2 something is breached or open; 3 the file could not be read",
		See:      "model show, profile show",
	},
}

var ProfileVerbs = []kit.Verb{
	{
		Name: "profile list", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Reads, Run: runProfileList,
		Result:   []profileRow{},
		Short:    "list the profiles of organisation, and which one is chosen",
		Does:     "Lists the four profiles. The one that this bus has chosen is marked; where there is no bus, none is.",
		Examples: "$ tutti profile list",
		Exit:     kit.ExitBus,
		See:      "model list",
	},
	{
		Name: "profile show", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Profiles, Run: runProfileShow,
		Result: profileView{},
		Short:  "show what a profile allows and requires",
		Args:   "[<profile>]",
		Does: `Shows a profile, by default the one that this bus has chosen: which roles must be filled, how policies are adopted, what may be
shown, who decides a recourse, how obligations recur, and which policies take precedence; how far programs can do what it asks
for; and what must be true before something is opened, offered, accepted, signed or stabilised.`,
		Examples: "$ tutti profile show\n$ tutti profile show D_SAFE --json",
		Exit:     kit.ExitBus,
	},
	{
		Name: "profile use", Under: kit.Tutti, Group: kit.GroupGovern, Halt: kit.Makes, MinArgs: 1, MaxArgs: 1, Offer: kit.Profiles, Opts: kit.WithFlags(runProfileUse),
		Result: chosenProfile{},
		Short:  "choose the profile of this bus, or none",
		Args:   "<profile>|none",
		Flags:  []kit.Flag{kit.AsFlag},
		Does: `Chooses a profile for everybody on this bus. From then on it is asked before each step of a negotiation, and a step that
it does not allow is refused with the reason and what to type. "none" takes the choice back. Who chose, when, and what held
before is kept beside it.`,
		Wont:     "It does not change signed negotiations. Anyone who may write to the bus can choose again.",
		Examples: "$ tutti profile use D_SAFE\n$ tutti profile use none",
		Exit:     "0 chosen, or chosen already; 1 there is no such profile, or wrong usage; 2 there is no bus, or the profile changed meanwhile; 3 a file could not be read or written",
		See:      "profile show",
	},
}
