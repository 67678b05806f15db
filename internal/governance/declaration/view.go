package declaration

import (
	"encoding/json"

	"tutti/internal/core/render"
)

// A PostureView is how an agent stands towards a conflict of interest, for programs.
type PostureView struct {
	Subject string `json:"subject"`
	postureMembers
	Declaration     json.RawMessage `json:"declaration,omitempty"` // the declaration that counts, as it was made
	HidesCollective bool            `json:"masqueImpactCollectif"` // its interest can hide what this means for all
}

// postureMembers are the members of a posture in every output.
type postureMembers struct {
	Conflict   string   `json:"postureConflit"`
	Criteria   []string `json:"criteres"` // what makes a conflict of it
	Disclosure string   `json:"disclosureMode"`
}

func (p Posture) members() postureMembers {
	return postureMembers{p.Conflict, render.List(p.Criteria), p.Disclosure}
}

// View returns the posture for programs.
func (p Posture) View() PostureView {
	v := PostureView{Subject: p.Subject, postureMembers: p.members(), HidesCollective: p.HidesCollective}
	if p.Declaration != nil {
		v.Declaration = p.Declaration.JSON()
	}
	return v
}

// Escalation returns the payload of the escalation for when a required signer has a conflict.
func (p Posture) Escalation() []byte {
	return render.JSON(struct {
		Kind    string `json:"kind"`
		Subject string `json:"subject"`
		postureMembers
		HidesCollective bool   `json:"masqueImpactCollectif"`
		Body            string `json:"requiredBodyKind"`
		Disposition     string `json:"disposition"`
	}{"postureConflit", p.Subject, p.members(), p.HidesCollective, interestKind, "route-escalate"})
}

// A ConfidenceView says how far a decision can be relied on, for programs.
type ConfidenceView struct {
	Level       string   `json:"postureConfiance"`
	Dossier     string   `json:"dossierHash"`
	Attested    bool     `json:"attentionAttested"`               // every decider has attested the present dossier
	Declared    bool     `json:"noUndisclosedCollectiveConflict"` // no conflict is undeclared
	Missing     []string `json:"missingAttestations"`             // deciders that have not attested the present dossier
	Stale       []string `json:"staleAttestations"`               // those of them that have attested an older one
	Disclosed   []string `json:"disclosedConflicts"`
	Undisclosed []string `json:"undisclosedConflicts"`
	Reasons     []string `json:"reasons"`
}

// View returns the judgement for programs.
func (c Confidence) View() ConfidenceView {
	return ConfidenceView{
		c.Level, c.Dossier, len(c.Missing) == 0, len(c.Undisclosed) == 0, render.List(c.Missing), render.List(c.Stale),
		render.List(c.Disclosed), render.List(c.Undisclosed), render.List(c.Reasons),
	}
}

// Escalation returns the payload of the escalation for when a decision is made that cannot be relied on as a whole. It advises
// and holds nothing up.
func (c Confidence) Escalation() []byte {
	return render.JSON(struct {
		Kind string `json:"kind"`
		ConfidenceView
		Disposition string `json:"disposition"`
	}{"postureConfiance", c.View(), "advisory-only"})
}
