package pack

// ScanJSON returns nil when b is no deeper and holds no more values (keys of
// objects included) than the limits allow. It checks nesting and strings only:
// whatever else is wrong is for the JSON decoder to say, which reads the text
// before it allocates. It allocates nothing when it succeeds.
func ScanJSON(b []byte, limits Limits) error {
	limits = limits.orDefault()
	depth, elements := 0, 1
	for off := 0; off < len(b); off++ {
		switch b[off] {
		case '"':
			n := stringLen(b[off:])
			if n == 0 {
				return refuse(off, ErrTruncated)
			}
			off += n - 1
		case '[', '{':
			if depth++; depth > limits.Depth {
				return refuse(off, ErrDepth)
			}
			elements++
		case ']', '}':
			if depth--; depth < 0 {
				return refuse(off, ErrType)
			}
		case ',', ':':
			elements++
		}
		if elements > limits.Elements {
			return refuse(off, ErrElements)
		}
	}
	if depth != 0 {
		return refuse(len(b), ErrTruncated)
	}
	return nil
}

// stringLen returns the length of the string literal at the start of b, quotes
// included, or 0 when it does not end.
func stringLen(b []byte) int {
	for off := 1; off < len(b); off++ {
		switch b[off] {
		case '"':
			return off + 1
		case '\\':
			off++ // what it escapes is no quote
		}
	}
	return 0
}
