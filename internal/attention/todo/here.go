package todo

import (
	"cmp"
	"strings"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/overview"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/termsafe"
	"tutti/internal/sessions/job"
)

// Letters are the conversations between projects that were handed to the user, for whom they wait only if he looks himself, and what is
// said to be complete and was not looked at by the project of this folder (nil: none).
func Letters(projects []*overview.Project, here *exchange.Project, person bool) (all []Item) {
	for _, p := range projects {
		if p.Err != nil {
			continue
		}
		is := here != nil && p.Path == here.Path
		for n := range p.Conversations {
			t := &p.Conversations[n]
			i := Item{ID: t.ID, From: t.Partner, At: t.Last.Time, Command: "tutti comms status --project " + termsafe.Word(p.Name) + " --conversations"}
			i.Actions = Shows("comms", "status", "--project", p.Name, "--conversations")
			switch {
			case !t.Open:
				continue
			case t.Awaited == protocol.User && person:
				i.Kind, i.About = Comms, p.Name+": "+t.ID+" was handed to you: decide, and tell one side"
			case t.VerificationDue && t.AwaitedName == p.Name && is:
				i.Kind, i.About = Complete, p.Name+": "+t.ID+" is said to be complete: look at it, then release it"
			default:
				continue
			}
			all = append(all, i)
		}
	}
	return all
}

// Jobs are those that claim to be done and were neither accepted nor rejected, for a person or their submitter, and those that ask for a
// permission, for a person. by is asked once one of them is there.
func Jobs(jobs []*job.Job, by func() (submitter string, person bool)) (all []Item) {
	who, person, asked := "", false, false
	for _, j := range jobs {
		asks := j.Status == job.StatusRunning && j.Last == job.Permission && j.Session == ""
		if j.Verdict != "" || j.Status != job.StatusCompleted && !asks {
			continue
		}
		if !asked {
			who, person = by()
			asked = true
		}
		i := Item{Kind: Job, ID: j.ID, From: cmp.Or(j.Session, j.Agent), At: j.Updated, Actions: Shows("job", "show", j.ID)}
		switch {
		case asks && person:
			i.Kind, i.About, i.Command = Permission, "job "+j.ID+" asks for a permission", "tutti job show "+termsafe.Word(j.ID)
		case !asks && (person || who == j.Submitter):
			first, _, _ := strings.Cut(strings.TrimSpace(j.Prompt), "\n")
			i.About, i.Command = "says that it is done: "+first, "tutti job accept "+termsafe.Word(j.ID)
			i.Actions = append(i.Actions, Action{ID: "accept", Label: "Accept the job", Args: []string{"job", "accept", j.ID}})
		default:
			continue
		}
		all = append(all, i)
	}
	return all
}
