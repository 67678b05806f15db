package canonjson

import (
	"bytes"
	"strconv"
)

// Inexact returns the first number in a JSON value that a double does not have, as it is written and as the canonical form has it; ok is
// false where there is none, or the value has no canonical form. A signature covers such a number rounded, so that others of its
// neighbourhood can take its place.
func Inexact(raw []byte) (written, signed string, ok bool) {
	if Check(raw) != nil {
		return "", "", false
	}
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			i, _, _ = str(raw, i+1)
		case c == '-' || c >= '0' && c <= '9':
			end, _ := number(raw, i)
			if inexact(raw[i:end]) {
				canonical, _ := appendNumber(nil, raw[i:end])
				return string(raw[i:end]), string(canonical), true
			}
			i = end
		default:
			i++
		}
	}
	return "", "", false
}

// inexact tells whether the canonical form of a number is another number.
func inexact(text []byte) bool {
	canonical, ok := appendNumber(nil, text)
	if !ok {
		return false
	}
	digits, exponent := decimal(text)
	same, too := decimal(canonical)
	return digits != same || exponent != too
}

// decimal is a number as its digits without zeros at either end, and the power of ten of the first one; a zero has none.
func decimal(text []byte) (digits string, exponent int) {
	mantissa, power, _ := bytes.Cut(bytes.ToLower(bytes.TrimPrefix(text, []byte("-"))), []byte("e"))
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	all := append(bytes.Clone(whole), fraction...)
	first := bytes.TrimLeft(all, "0")
	if len(first) == 0 {
		return "", 0
	}
	exponent, _ = strconv.Atoi(string(power))
	return string(bytes.TrimRight(first, "0")), exponent + len(whole) - (len(all) - len(first))
}
