package docs

// The code of the pages, compiled. The functions are not run: what the pages show is
// run by the programs under examples and by the tests of the packages.

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/inbox"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// What the snippets take for granted.
type (
	Image     struct{ URL string }
	Thumbnail struct{ URL string }
	Webhook   struct{ URL string }
	Request   struct{ Path string }
	Report    struct{ Account string }
	Payment   struct {
		Account string
		Cents   int
	}
)

var (
	ctx            context.Context
	client         *queue.Client
	w              *worker.Worker
	db             *sql.DB
	box            *inbox.Inbox
	runID          cyclone.RunID
	url            string
	newKey, oldKey []byte
	errRateLimited = errors.New("429 Too Many Requests")

	mailer interface {
		Send(ctx context.Context, to, subject string) error
	}
	provider interface {
		Charge(ctx context.Context, cents int, key string) error
	}
	tracker interface {
		Report(err error, attrs ...string)
	}
	transitions interface {
		WithLabelValues(...string) interface{ Inc() }
	}
	handler interface {
		createAccount(ctx cyclone.Context, in Report) (string, error)
	}
	resize  func(context.Context, Image) (Thumbnail, error)
	post    func(context.Context, Webhook) (int, error)
	callAPI func(context.Context, Request) (time.Duration, error)
)

func sendSMS(cyclone.Context, string) error    { return nil }
func syncLedger(cyclone.Context, string) error { return nil }

// getting-started.md

type Email struct {
	To      string `json:"to"`
	Subject string `json:"subject"`
}

var SendEmail = cyclone.NewAction("send_email", func(ctx cyclone.Context, in Email) error {
	return mailer.Send(ctx, in.To, in.Subject)
})

func connect() error {
	client, err := queue.Open("redis://127.0.0.1:6379/0", queue.Config{})
	if err != nil {
		return err
	}
	defer client.Close()
	return nil
}

func enqueue() (*cyclone.Run, error) {
	run, err := cyclone.EnqueueAction(ctx, client, SendEmail, Email{To: "ada@example.com", Subject: "Hello"})
	return run, err
}

func work() error {
	w, err := worker.New(client, worker.Config{})
	if err != nil {
		return err
	}
	w.Register(SendEmail)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return w.Run(ctx)
}

// defining-work.md

var Resize = cyclone.NewStep("resize", func(ctx cyclone.Context, in Image) (Thumbnail, error) {
	return resize(ctx, in)
}, cyclone.WithQueue("images"), cyclone.WithTimeout(time.Minute))

func task() {
	w.NewTask("create-account", cyclone.HandlerFunc(handler.createAccount),
		cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{time.Second}}))
}

var Ping = cyclone.DeclareAction[int]("ping")

func init() {
	Ping.Handle(func(ctx cyclone.Context, n int) error {
		_, err := cyclone.EnqueueAction(ctx, client, Ping, n-1)
		return err
	})
}

// enqueueing.md

func enqueueWithOptions() (*cyclone.RunOf[Thumbnail], error) {
	run, err := cyclone.EnqueueStep(ctx, client, Resize, Image{URL: url},
		cyclone.WithPriority(cyclone.High), cyclone.WithMaxAttempts(3))
	return run, err
}

func enqueueMany() ([]*cyclone.Run, error) {
	runs, err := cyclone.EnqueueMany(ctx, client,
		SendEmail.With(Email{To: "ada@example.com"}),
		Resize.With(Image{URL: url}, cyclone.WithQueue("bulk")),
	)
	return runs, err
}

func enqueueOnce() (*cyclone.Run, error) {
	run, err := cyclone.EnqueueAction(ctx, client, SendEmail, Email{To: "ada@example.com"},
		cyclone.WithRequestKey("order-17-paid"))
	return run, err
}

// retries.md

var DeliverWebhook = cyclone.NewAction("deliver_webhook", func(ctx cyclone.Context, in Webhook) error {
	status, err := post(ctx, in)
	switch {
	case err != nil:
		return err
	case status >= 500:
		return fmt.Errorf("the receiver answered %d", status)
	case status >= 400:
		return cyclone.Permanent(fmt.Errorf("the receiver refused it: %d", status))
	}
	return nil
})

var SendSMS = cyclone.NewAction("send_sms", sendSMS,
	cyclone.WithMaxAttempts(8),
	cyclone.WithBackoff(func(attempt int) time.Duration { return 30 * time.Second }))

var SyncLedger = cyclone.NewAction("sync_ledger", syncLedger,
	cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 20, Delays: []time.Duration{time.Second, time.Minute}}))

// snooze.md

var CallAPI = cyclone.NewAction("call_api", func(ctx cyclone.Context, in Request) error {
	wait, err := callAPI(ctx, in)
	if errors.Is(err, errRateLimited) {
		return cyclone.Snooze(wait) // what its Retry-After header said
	}
	return err
})

// unique-jobs.md

var BuildReport = cyclone.DeclareStep[Report, string]("build_report")

func unique() error {
	run, err := cyclone.EnqueueStep(ctx, client, BuildReport, Report{Account: "ada"},
		cyclone.WithUnique(cyclone.Unique{Key: "ada"}))
	if err != nil {
		return err
	}
	if run.Existing() {
		log.Println("it is on its way already:", run.ID())
	}
	return nil
}

// exactly-once-effects.md

var SendReceipt = cyclone.DeclareAction[Payment]("send_receipt")

var Receive = cyclone.NewAction("receive", func(ctx cyclone.Context, in Payment) error {
	tx := ctx.CompletionTx()
	if err := tx.IncrBy(tx.Key("received:"+in.Account), int64(in.Cents)); err != nil {
		return err
	}
	return tx.Enqueue(SendReceipt.With(in))
})

var Credit = cyclone.NewStep("credit", func(ctx cyclone.Context, in Payment) (int, error) {
	return inbox.Once(ctx, box, "credit", func(ctx context.Context, tx *sql.Tx) (cents int, err error) {
		err = tx.QueryRowContext(ctx, `UPDATE accounts SET cents = cents + $1 WHERE id = $2 RETURNING cents`,
			in.Cents, in.Account).Scan(&cents)
		return cents, err
	})
})

func migrate() error {
	box, err := inbox.New(db, inbox.Config{})
	if err != nil {
		return err
	}
	return box.Migrate(ctx)
}

var Charge = cyclone.NewAction("charge", func(ctx cyclone.Context, in Payment) error {
	return provider.Charge(ctx, in.Cents, ctx.IdempotencyKey())
})

// workers.md

func configure() (*worker.Worker, error) {
	w, err := worker.New(client, worker.Config{
		Queues:      []worker.Queue{{Name: "mail", Weight: 3}, {Name: "reports", Weight: 1, Max: 2}},
		Concurrency: 50,
		Timeout:     5 * time.Minute,
	})
	return w, err
}

func timed(ctx cyclone.Context, next func(context.Context) error) error {
	began := time.Now()
	err := next(ctx)
	ctx.Logger().Info("attempt ended", "took", time.Since(began), "error", err)
	return err
}

func track() (*worker.Worker, error) {
	w, err := worker.New(client, worker.Config{
		OnFailure: func(_ cyclone.Context, f worker.Failure) {
			if f.Discarded {
				tracker.Report(f.Err, "kind", f.Kind, "run", f.RunID.String(), "stack", f.Stack)
			}
		},
	})
	return w, err
}

func ready() {
	http.HandleFunc("GET /ready", func(rw http.ResponseWriter, _ *http.Request) {
		if h := w.Health(); h.Err != nil || h.Stopping {
			http.Error(rw, "not ready", http.StatusServiceUnavailable)
		}
	})
}

// events-and-waiting.md

func wait() error {
	run, err := cyclone.EnqueueStep(ctx, client, Resize, Image{URL: url})
	if err != nil {
		return err
	}
	thumbnail, err := run.Wait(ctx)
	log.Println(thumbnail)
	return err
}

func count() (*queue.Client, error) {
	client, err := queue.Open(url, queue.Config{}, cyclone.WithOnStepEvent(func(e cyclone.StepEvent) {
		transitions.WithLabelValues(string(e.Type), e.Kind).Inc()
	}))
	return client, err
}

func subscribe() error {
	subscription, err := client.Subscribe(ctx, queue.EventFilter{
		Types: []cyclone.EventType{cyclone.EventFailed, cyclone.EventDiscarded},
	})
	if err != nil {
		return err
	}
	defer subscription.Close()
	for event, err := range subscription.Events(ctx) {
		if errors.Is(err, queue.ErrLagged) {
			continue // some are missing: look things up if you need them all
		}
		if err != nil {
			return err
		}
		if event.State == cyclone.StepExhausted {
			log.Printf("run %v, %s, is discarded: %s", event.RunID, event.Kind, event.Error)
		}
	}
	return nil
}

// inspecting-and-repair.md

func listDiscarded() error {
	for cursor := ""; ; {
		page, err := client.List(ctx, queue.ListQuery{Queue: "mail", State: cyclone.StepExhausted, Cursor: cursor})
		if err != nil {
			return err
		}
		for _, step := range page.Steps {
			fmt.Println(step.RunID, step.Kind, step.Attempts, step.Code, step.Error)
		}
		if cursor = page.Next; cursor == "" {
			return nil
		}
	}
}

func reopen() error {
	err := client.Retry(ctx, runID, "send_email",
		cyclone.RetryAdditionalAttempts(3),
		cyclone.RetryReason("SMTP provider recovered"),
	)
	return err
}

func reopenMatching() {
	done, err := client.RetryMatching(ctx, queue.Filter{Queue: "mail", ErrorContains: "connection refused"},
		func(p queue.Progress) { log.Printf("%d of %d matched", p.Matched, p.Seen) },
		cyclone.RetryReason("the relay is back"))
	if err != nil {
		log.Printf("stopped after %d; go on with Cursor: %q", done.Done, done.Cursor)
	}
}

// deployment.md

func connectBySentinel() (*queue.Client, error) {
	rdb := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs:      []string{"10.0.0.1:26379", "10.0.0.2:26379"},
		MasterName: "jobs", // Sentinel; leave it out and give nodes for Cluster
		Username:   "cyclone-worker",
		Password:   os.Getenv("REDIS_PASSWORD"),
		TLSConfig:  &tls.Config{MinVersion: tls.VersionTLS12},
	})
	client, err := queue.NewClient(rdb, queue.Config{})
	return client, err
}

// security.md

func encrypt() (queue.Codec, error) {
	codec, err := queue.NewEncryptedCodec(16, queue.NewMsgpackCodec(0), []byte("cyclone"),
		queue.EncryptionKey{ID: "2025-06", Secret: newKey},
		queue.EncryptionKey{ID: "2025-01", Secret: oldKey},
	)
	return codec, err
}

// The functions are here to be compiled.
var _ = []any{
	connect, enqueue, work, task, enqueueWithOptions, enqueueMany, enqueueOnce, unique, migrate, configure, timed, track, ready, wait,
	count, subscribe, listDiscarded, reopen, reopenMatching, connectBySentinel, encrypt,
}
