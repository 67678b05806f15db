package declaration

// Example is an artifact of a kind as text, to begin with: it has all that an artifact of that kind must have, with words in the
// place of what only its author knows. "" for a kind without one. No Guard refuses it.
func Example(kind string) string {
	switch kind {
	case Contract:
		return exampleContract
	case Policy:
		return examplePolicy
	case Engagement:
		return exampleEngagement
	case Amendment:
		return exampleAmendment
	case Mandate:
		return exampleMandate
	case Authority:
		return exampleAuthority
	case EnforcementPlan:
		return examplePlan
	}
	return ""
}

const (
	exampleContract = `{
  "kind": "CONTRACT",
  "id": "contract-1",
  "scope": "scope:default",
  "parties": ["claude:api:3f2a9c01b7de", "human:ana:7b12f09c4e55"],
  "clauses": [{"id": "clause-1", "text": "what each owes the others"}],
  "policies": [],
  "engagements": [],
  "signatures": []
}
`
	examplePolicy = `{
  "kind": "POLICY",
  "id": "policy-1",
  "scope": "scope:default",
  "rule": "what holds from now on",
  "sourceAuthority": "human:ana:7b12f09c4e55",
  "adoptionMode": "ratified"
}
`
	exampleEngagement = `{
  "kind": "ENGAGEMENT",
  "id": "engagement-1",
  "scope": "scope:default",
  "charter": {"goal": "what is to be done"},
  "roleBindings": [{"role": "CONDUCTOR", "instance": "claude:api:3f2a9c01b7de"}],
  "controls": [],
  "policies": [],
  "successCriteria": ["by what one sees that it is done"]
}
`
	exampleAmendment = `{
  "kind": "AMENDMENT",
  "id": "amendment-1",
  "targetKind": "CONTRACT",
  "targetId": "contract-1",
  "baseArtifactHash": "sha256:0000000000000000000000000000000000000000000000000000000000000000",
  "changes": [{"op": "replace", "path": "/clauses/0/text", "value": "what it says from now on"}],
  "signatures": []
}
`
	exampleMandate = `{
  "kind": "MANDATE",
  "id": "mandate-1",
  "instance": "claude:api:3f2a9c01b7de",
  "role": "CONDUCTOR",
  "scope": "scope:default",
  "rights": ["negotiate"]
}
`
	exampleAuthority = `{
  "kind": "AUTHORITY",
  "id": "authority-1",
  "authorityKind": "quorum",
  "members": ["claude:api:3f2a9c01b7de", "human:ana:7b12f09c4e55"],
  "threshold": 2
}
`
	examplePlan = `{
  "kind": "ENFORCEMENT_PLAN",
  "id": "plan-1",
  "scope": "scope:default",
  "controls": [{"domain": "release", "instance": "claude:api:3f2a9c01b7de", "rights": ["block"]}],
  "triggers": [{"name": "late", "condition": "the deadline has passed"}],
  "escalations": [{"trigger": "late", "target": "human:ana:7b12f09c4e55"}]
}
`
)
