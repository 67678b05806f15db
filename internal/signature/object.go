package signature

import "crypto/ed25519"

// An Object is a signature as it stands in documents: {"by":…,"alg":"ed25519","value":…}. By and Alg are not covered by the
// signature itself: that By is who the document says it is from is a check of its own.
type Object struct{ By, Alg, Value string }

// Verify reports whether the object is a signature of message under key. Whatever is wrong with the object, the answer is
// false: it came from a stranger, and there is nothing that its reader could do about it.
func (o Object) Verify(message []byte, key Public) bool {
	if o.Alg != Alg {
		return false
	}
	sig, ok := decode(o.Value)
	return ok && ed25519.Verify(key[:], message, sig[:])
}

// decode reads 64 bytes of base64 in the standard or the URL alphabet, padded or not. Existing programs also skip characters
// that belong to neither; nobody writes them, so ours do not verify then.
func decode(s string) (sig [ed25519.SignatureSize]byte, ok bool) {
	const digits = (ed25519.SignatureSize*8 + 5) / 6 // 86, of which the last has four bits to spare
	if len(s) < digits || len(s) > digits+2 {
		return sig, false
	}
	for _, c := range []byte(s[digits:]) {
		if c != '=' {
			return sig, false
		}
	}
	acc, bits, n := uint32(0), 0, 0
	for _, c := range []byte(s[:digits]) {
		v := digit(c)
		if v < 0 {
			return sig, false
		}
		acc, bits = acc<<6|uint32(v), bits+6
		if bits >= 8 {
			bits -= 8
			sig[n] = byte(acc >> bits)
			n++
		}
	}
	return sig, true
}

func digit(c byte) int {
	switch {
	case 'A' <= c && c <= 'Z':
		return int(c - 'A')
	case 'a' <= c && c <= 'z':
		return int(c-'a') + 26
	case '0' <= c && c <= '9':
		return int(c-'0') + 52
	case c == '+', c == '-':
		return 62
	case c == '/', c == '_':
		return 63
	}
	return -1
}
