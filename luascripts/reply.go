package luascripts

// integer, text and list read the i-th element of a reply; what is missing or of
// another type reads as zero, since a script's replies have one shape.
func integer(reply []any, i int) int64 {
	if i < len(reply) {
		n, _ := reply[i].(int64)
		return n
	}
	return 0
}

func text(reply []any, i int) string {
	if i < len(reply) {
		s, _ := reply[i].(string)
		return s
	}
	return ""
}

func list(reply []any, i int) []any {
	if i < len(reply) {
		l, _ := reply[i].([]any)
		return l
	}
	return nil
}

func texts(values []any) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i], _ = v.(string)
	}
	return out
}
