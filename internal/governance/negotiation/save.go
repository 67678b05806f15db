package negotiation

import (
	"maps"
	"slices"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/journal"
	"tutti/internal/store"
)

// foldForm is changed with the rules of the fold: what was kept under other rules is not believed.
const foldForm = 4

// Save spells the fold. What checking signatures said is not kept, as keys change.
func (f *fold) Save() []byte {
	var o canonjson.Object
	o.Int("form", foldForm)
	o.Str("record", f.rev)
	o.Bool("strict", f.b.n.Strict)
	o.Raw("terms", f.terms)
	o.Int("termsAt", int64(f.termsAt))
	o.Str("state", string(f.state))
	o.Int("ended", int64(f.ended))
	o.Int("total", int64(f.total))
	o.Strs("overdue", texts(slices.Sorted(maps.Keys(f.overdue))))
	o.Strs("sealers", texts(slices.Sorted(maps.Keys(f.sealers))))
	o.Str("witnessed", f.witnessed.Date)
	o.Int("witnessedAt", int64(f.witnessed.Index))
	o.Str("witness", string(f.witnessed.By))
	o.Str("ahead", f.ahead)
	o.Raw("offers", list(f.offers, saveOffer))
	o.Raw("signed", list(f.signed, saveSigned))
	o.Raw("refusals", list(f.refusals, saveSigned))
	if f.final != nil {
		o.Within("final", func(o *canonjson.Object) {
			o.Int("index", int64(f.final.Index))
			o.Str("hash", f.final.Hash)
			o.Str("at", f.final.At)
			o.Strs("signers", texts(f.final.Signers))
			o.Bool("done", f.final.Done)
			o.Int("doneIndex", int64(f.final.DoneIndex))
			o.Str("doneId", f.final.DoneID)
			o.Str("intent", f.final.Intent)
		})
	}
	return o.End()
}

func texts(all []address.Instance) []string {
	out := make([]string, len(all))
	for n, i := range all {
		out[n] = string(i)
	}
	return out
}

func list[T any](all []T, save func(T) []byte) []byte {
	out := []byte{'['}
	for n, v := range all {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, save(v)...)
	}
	return append(out, ']')
}

func saveOffer(v Offered) []byte {
	var o canonjson.Object
	o.Int("index", int64(v.Index))
	o.Str("at", string(v.At))
	o.Str("hash", v.Hash)
	o.Str("kind", v.Kind)
	o.Str("by", string(v.By))
	o.Str("created", v.CreatedAt)
	o.Bool("counter", v.Counter)
	o.Str("base", v.Base)
	return o.End()
}

func saveSigned(v Signed) []byte {
	var o canonjson.Object
	o.Int("index", int64(v.Index))
	o.Str("at", string(v.At))
	o.Str("hash", v.Hash)
	o.Str("by", string(v.By))
	o.Str("created", v.CreatedAt)
	o.Str("mandate", v.Mandate)
	o.Raw("signature", signatureJSON(v.Object))
	if v.Context != nil {
		o.Raw("context", signatureJSON(*v.Context))
	}
	return o.End()
}

func signatureJSON(s signature.Object) []byte {
	var o canonjson.Object
	o.Str("by", s.By)
	o.Str("alg", s.Alg)
	o.Str("value", s.Value)
	return o.End()
}

// Restore makes the fold what Save spelt, if that was with the same record.
func (f *fold) Restore(saved []byte) bool {
	f.clear()
	if saved == nil {
		return true
	}
	if number(saved, "form") != foldForm || f.record != nil && member(saved, "record") != f.rev || truth(saved, "strict") != f.b.n.Strict {
		return false
	}
	if t, ok := canonjson.Get(saved, "terms"); ok {
		f.terms, f.termsAt = t, number(saved, "termsAt")
		if r, err := fromTerms(t); err == nil && f.record == nil {
			f.know(r)
		}
	}
	if f.rev != member(saved, "record") {
		return false
	}
	f.state, f.ended, f.total = State(member(saved, "state")), number(saved, "ended"), number(saved, "total")
	f.sealers, f.overdue = restoreSet(saved, "sealers"), restoreSet(saved, "overdue")
	f.witnessed = dated{member(saved, "witnessed"), number(saved, "witnessedAt"), address.Instance(member(saved, "witness"))}
	f.ahead = member(saved, "ahead")
	for v := range elements(saved, "offers") {
		f.offers = append(f.offers, Offered{
			number(v, "index"), store.Pos(member(v, "at")), member(v, "hash"), member(v, "kind"), address.Instance(member(v, "by")),
			member(v, "created"), truth(v, "counter"), member(v, "base"),
		})
	}
	for v := range elements(saved, "signed") {
		f.signed = append(f.signed, restoreSigned(v))
	}
	for v := range elements(saved, "refusals") {
		f.refusals = append(f.refusals, restoreSigned(v))
	}
	if v, ok := canonjson.Get(saved, "final"); ok {
		f.final = &Final{
			number(v, "index"), member(v, "hash"), unmarked(v, "signers"), member(v, "at"), truth(v, "done"), number(v, "doneIndex"),
			member(v, "doneId"), member(v, "intent"),
		}
	}
	return f.fresh()
}

// unmarked reads a list of instances as it was saved.
func unmarked(raw []byte, name string) []address.Instance {
	v, _ := canonjson.Get(raw, name)
	texts, _ := canonjson.Strings(v)
	out := make([]address.Instance, len(texts))
	for n, s := range texts {
		out[n] = address.Instance(s)
	}
	return out
}

func restoreSet(raw []byte, name string) set { return setOf(unmarked(raw, name)) }

func restoreSigned(v []byte) Signed {
	s := Signed{
		Index: number(v, "index"), At: store.Pos(member(v, "at")), Hash: member(v, "hash"), By: address.Instance(member(v, "by")),
		CreatedAt: member(v, "created"), Mandate: member(v, "mandate"),
	}
	s.who = s.By.Canonical()
	if o, ok := canonjson.Get(v, "signature"); ok {
		s.Object, _ = journal.ReadSignature(o)
	}
	if o, ok := canonjson.Get(v, "context"); ok {
		c, _ := journal.ReadSignature(o)
		s.Context = &c
	}
	return s
}

func number(raw []byte, name string) int {
	v, ok := canonjson.Get(raw, name)
	if !ok {
		return 0
	}
	n, _ := canonjson.Int(v)
	return int(n)
}

func truth(raw []byte, name string) bool {
	v, _ := canonjson.Get(raw, name)
	is, _ := canonjson.Bool(v)
	return is
}

// elements yields what an array holds that is a member.
func elements(raw []byte, name string) func(func([]byte) bool) {
	v, _ := canonjson.Get(raw, name)
	return canonjson.Elements(v)
}
