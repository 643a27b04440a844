package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// explain turns an error of the library or of Redis into one that says what to
// do next. ctx tells an interrupt from a deadline.
func (p *program) explain(ctx context.Context, err error) error {
	var known *failure
	var done silent
	if err == nil || errors.As(err, &known) || errors.As(err, &done) {
		return err
	}
	f := &failure{exit: ExitError, text: p.hide(withoutPackages(err.Error())), err: err}
	var duplicate *cyclone.DuplicateError
	var run *cyclone.RunError
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errInterrupted):
		f.exit, f.text = ExitInterrupted, "interrupted"
	case errors.Is(err, cyclone.ErrNotFound):
		f.exit = ExitNotFound
		f.next = "Completed actions are not kept unless WithRetention says so. `cyclone steps list` shows what is there."
	case errors.Is(err, cyclone.ErrNotDiscarded):
		f.exit = ExitRefused
		f.next = "Only discarded steps can be opened again; `cyclone steps list --state discarded` shows them."
	case errors.Is(err, queue.ErrFinished):
		f.exit = ExitRefused
		f.next = "`cyclone steps show` tells how it ended; a discarded or cancelled one can be opened again with `cyclone retry`."
	case errors.Is(err, queue.ErrSignalsFull):
		f.exit = ExitRefused
		f.next = "Nobody takes its signals: `cyclone runs show` tells what it waits for."
	case errors.Is(err, queue.ErrManySteps):
		f.exit = ExitRefused
		f.next = "Its steps start when those that they depend on have ended: `cyclone runs show` shows where it stands."
	case errors.Is(err, queue.ErrNotWaiting):
		f.exit = ExitRefused
		f.next = "It is ready or running: `cyclone cancel` ends it."
	case errors.As(err, &duplicate):
		f.exit = ExitRefused
		f.next = "`cyclone runs show " + duplicate.Holder.String() + "` shows the holder."
	case errors.As(err, &run):
		f.exit = ExitRefused
		f.next = "`cyclone runs show " + run.RunID.String() + "` shows the whole run."
	case errors.Is(err, cyclone.ErrUnknownOutcome):
		f.exit = ExitUnknown
		f.next = "It had its effect or not: look before you repeat it, or enqueue with --request-key to be able to."
	case errors.Is(err, queue.ErrFull):
		f.exit = ExitUnavailable
		f.next = "Raise maxmemory, or let workers drain the backlog: they go on at the limit."
	default:
		p.explainServer(ctx, err, f)
	}
	return f
}

// withoutPackages removes the names of the packages that an error went through.
func withoutPackages(text string) string {
	for _, name := range []string{"cyclone: ", "queue: ", "redis: "} {
		text = strings.ReplaceAll(strings.TrimPrefix(text, name), ": "+name, ": ")
	}
	return text
}

const mayNot = "This Redis user may not do that: `cyclone acl` prints the rules that it needs."

// serverHints say what to do about errors of the server, by how they begin.
var serverHints = []struct{ prefix, next string }{
	{"NOAUTH", "The server wants a password: set CYCLONE_PASSWORD, or give --password-file."},
	{"WRONGPASS", "Check user and password: --user, CYCLONE_PASSWORD or --password-file."},
	{"invalid password", "Check CYCLONE_PASSWORD or --password-file."},
	{"NOPERM", mayNot},
	{"ACL failure in script", mayNot},
	{"The user executing the script", mayNot},
	{"READONLY", "This is a replica: give the primary's address, or --sentinel and --master-name."},
	{"MOVED", "This is a node of a Redis Cluster: give its addresses with --cluster."},
	{"CROSSSLOT", "This is a Redis Cluster: give its addresses with --cluster."},
	{"MISCONF", "Redis cannot save its data and refuses writes: look at its log and its disk."},
	{"LOADING", "Redis is loading its data: try again in a moment."},
	{"CLUSTERDOWN", "The cluster lacks nodes: `redis-cli cluster info` says more."},
	{"MASTERDOWN", "The primary is away: try again when a replica has been promoted."},
}

func (p *program) explainServer(ctx context.Context, err error, f *failure) {
	for _, hint := range serverHints {
		if redis.HasErrorPrefix(err, hint.prefix) {
			f.next = hint.next
			return
		}
	}
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
		f.exit = ExitUnavailable
		f.next = "It took too long. " + p.whereNext()
		if p.overTLS {
			f.next += " If it does not speak TLS, leave --tls out."
		}
	case strings.Contains(err.Error(), "can't parse"), strings.Contains(err.Error(), "invalid reply"):
		f.exit = ExitUnavailable
		f.next = "What answers at " + p.target + " is not Redis, or wants TLS: --tls, or a rediss:// URL."
	case isTLS(err):
		f.exit = ExitUnavailable
		f.next = "Trust the server's certificate with --tls-ca FILE, name it with --tls-server-name, or leave --tls out."
	case errors.As(err, &network), strings.Contains(err.Error(), "connection refused"), strings.Contains(err.Error(), "sentinels"):
		f.exit = ExitUnavailable
		f.next = p.whereNext()
	}
}

// isTLS reports whether a server was reached and TLS has failed.
func isTLS(err error) bool {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.As(err, &unknown) || errors.As(err, &name) || errors.As(err, &verify) || errors.As(err, &record)
}

// whereNext says how to get to the right server.
func (p *program) whereNext() string {
	if p.target == "" {
		return ""
	}
	return "Is Redis there, at " + p.target + "? Set CYCLONE_REDIS or --redis to where it is; `cyclone server` starts one for development."
}

// hide removes the password from a text.
func (p *program) hide(text string) string {
	for _, secret := range p.secrets {
		if len(secret) > 2 { // a shorter one is in every word
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}
