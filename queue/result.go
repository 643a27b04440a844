package queue

import (
	"math"

	"github.com/cyclone-queue/cyclone/internal/pack"
)

// result is a completed step's output as it is kept:
//
//	[finished ms, attempt, codec, output]
type result struct {
	FinishedMS int64
	Attempt    int
	Codec      uint8
	Output     []byte
}

func appendResult(dst []byte, r result) []byte {
	dst = pack.AppendArray(dst, 4)
	dst = pack.AppendInt(dst, r.FinishedMS)
	dst = pack.AppendInt(dst, int64(r.Attempt))
	dst = pack.AppendUint(dst, uint64(r.Codec))
	return pack.AppendBytes(dst, r.Output)
}

func decodeResult(b []byte) (result, error) {
	r := pack.NewReader(b)
	if r.ArrayLen() != 4 {
		r.Refuse()
	}
	out := result{
		FinishedMS: r.IntIn(0, maxStoredInt), Attempt: int(r.IntIn(0, math.MaxInt32)),
		Codec: uint8(r.IntIn(0, math.MaxUint8)), Output: r.Bytes(),
	}
	return out, r.Close()
}
