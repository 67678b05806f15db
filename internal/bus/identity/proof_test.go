package identity

import (
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/core/signature"
)

func TestPossession(t *testing.T) {
	t.Parallel()
	const who, other = "claude:ledger:77aa88bb99cc", "claude:ledger:aaaaaaaaaaaa"
	key, stranger := signature.Generate(), signature.Generate()
	pub := key.Public()
	want := `"identity-reclaim:claude:ledger:77aa88bb99cc:` + pub.Fingerprint() + `"`
	if got := string(Claim(who, pub)); got != want {
		t.Errorf("Claim\n got %s\nwant %s", got, want)
	}
	proof := Possession(who, key)
	for _, tt := range []struct {
		name   string
		who    string
		proof  signature.Object
		active []signature.Public
		want   bool
	}{
		{"own key", who, proof, []signature.Public{stranger.Public(), pub}, true},
		{"key not active", who, proof, []signature.Public{stranger.Public()}, false},
		{"no key at all", who, proof, nil, false},
		{"another agent's id", other, proof, []signature.Public{pub}, false},
		{"another agent's id, named in the proof", other, signature.Object{By: other, Alg: proof.Alg, Value: proof.Value}, []signature.Public{pub}, false},
		{"no signature", who, signature.Object{By: who, Alg: signature.Alg}, []signature.Public{pub}, false},
	} {
		if got := Possesses(address.Instance(tt.who), tt.proof, tt.active); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
