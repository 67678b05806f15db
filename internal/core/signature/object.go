package signature

import "crypto/ed25519"

// An Object is a signature as it is written in documents: {"by":…,"alg":"ed25519","value":…}. By and Alg are not covered by the
// signature itself: that By is who the document says it is from is a check of its own.
type Object struct{ By, Alg, Value string }

// Verify reports whether the object is a signature of message under key. Whatever is wrong with the object, the answer is
// false: it came from a stranger, and there is nothing that its reader could do about it.
func (o Object) Verify(message []byte, key Public) bool {
	sig, ok := o.Bytes()
	return ok && ed25519.Verify(key[:], message, sig[:])
}

// Bytes returns the signature itself, for those who verify in their own way. Of an object that is none it is false.
func (o Object) Bytes() (sig [ed25519.SignatureSize]byte, ok bool) {
	if o.Alg != Alg {
		return sig, false
	}
	return decode(o.Value)
}

// decode reads 64 bytes of base64 in the standard or the URL alphabet, padded or not. Existing programs also skip characters
// that belong to neither; no program writes them, so ours do not verify then.
func decode(s string) (sig [ed25519.SignatureSize]byte, ok bool) {
	const length = (ed25519.SignatureSize*8 + 5) / 6 // 86, of which the last has four bits to spare
	if len(s) < length || len(s) > length+2 {
		return sig, false
	}
	for _, c := range []byte(s[length:]) {
		if c != '=' {
			return sig, false
		}
	}
	acc, bits, n := uint32(0), 0, 0
	for _, c := range []byte(s[:length]) {
		v := digits[c]
		if v == 0 {
			return sig, false
		}
		acc, bits = acc<<6|uint32(v-1), bits+6
		if bits >= 8 {
			bits -= 8
			sig[n] = byte(acc >> bits)
			n++
		}
	}
	return sig, true
}

// digits has the value of a digit of either alphabet plus one, 0 for what is none.
var digits = [256]byte{
	'A': 1, 'B': 2, 'C': 3, 'D': 4, 'E': 5, 'F': 6, 'G': 7, 'H': 8, 'I': 9, 'J': 10, 'K': 11, 'L': 12, 'M': 13,
	'N': 14, 'O': 15, 'P': 16, 'Q': 17, 'R': 18, 'S': 19, 'T': 20, 'U': 21, 'V': 22, 'W': 23, 'X': 24, 'Y': 25, 'Z': 26,
	'a': 27, 'b': 28, 'c': 29, 'd': 30, 'e': 31, 'f': 32, 'g': 33, 'h': 34, 'i': 35, 'j': 36, 'k': 37, 'l': 38, 'm': 39,
	'n': 40, 'o': 41, 'p': 42, 'q': 43, 'r': 44, 's': 45, 't': 46, 'u': 47, 'v': 48, 'w': 49, 'x': 50, 'y': 51, 'z': 52,
	'0': 53, '1': 54, '2': 55, '3': 56, '4': 57, '5': 58, '6': 59, '7': 60, '8': 61, '9': 62, '+': 63, '-': 63, '/': 64, '_': 64,
}
