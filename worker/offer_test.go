package worker

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/embedded"
	"github.com/cyclone-queue/cyclone/queue"
)

// Replies of two turns may come in another order than Redis made the turns in. What was
// handed over under the offer of the first may then have come by the second, and its
// message be still on its way when both replies are in: under no offer may it start again.
func TestOfferOfTurnThatWasNotAlone(t *testing.T) {
	t.Parallel()
	s, err := embedded.InProcess()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rdb := redis.NewClient(s.Options())
	defer rdb.Close()
	client, err := queue.NewClient(rdb, queue.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	w, err := New(client, Config{Concurrency: 2 * side, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w.turnable, w.store = sync.NewCond(&w.mu), queue.NewStore(client, "w1")
	w.start(t.Context(), t.Context(), 1)
	p := w.parts[0]
	send := func() (*exchange, *queue.TurnReply) {
		w.mu.Lock()
		x := w.prepare(p)
		w.mu.Unlock()
		reply, err := w.store.Turn(context.Background(), &x.req)
		if err != nil {
			t.Fatal(err)
		}
		return x, reply
	}
	took := func(x *exchange, reply *queue.TurnReply) queue.Offer {
		w.take(x, reply)
		return p.offer
	}
	if took(send()) == (queue.Offer{}) {
		t.Error("the offer of a turn that was alone does not count")
	}
	first, firstReply := send()
	second, secondReply := send()
	if took(second, secondReply) != (queue.Offer{}) {
		t.Error("the offer of a turn counts while another is under way")
	}
	if took(first, firstReply) != (queue.Offer{}) {
		t.Error("the offer of a turn counts after that of a later one")
	}
	if took(send()) == (queue.Offer{}) {
		t.Error("no offer counts any more")
	}
}
