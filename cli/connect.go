package cli

import (
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone/queue"
)

const defaultURL = "redis://127.0.0.1:6379/0"

// A person waits for the answer: give up on a server that is not there soon.
const (
	dialTimeout  = 3 * time.Second
	dialAttempts = 2
)

// setting returns a connection flag, or else its environment variable.
func (p *program) setting(name string) string {
	if p.global != nil && p.global.IsSet(name) {
		return p.global.Value(name).(string)
	}
	for _, s := range settings {
		if s.flag == name {
			v, _ := p.env(s.env)
			return v
		}
	}
	return ""
}

// on is setting for a flag without a value. 0, false and no in the environment
// are off.
func (p *program) on(name string) (bool, error) {
	if p.global != nil && p.global.IsSet(name) {
		return p.global.Bool(name), nil
	}
	for _, s := range settings {
		if s.flag != name {
			continue
		}
		text, set := p.env(s.env)
		if !set {
			return false, nil
		}
		v, err := strconv.ParseBool(text)
		if err != nil {
			return false, usagef("Use 1 or 0.", "%s is %q", s.env, text)
		}
		return v, nil
	}
	return false, nil
}

// connect returns a client of the deployment that flags and environment name. It
// is closed when the program ends.
func (p *program) connect() (*queue.Client, error) {
	rdb, err := p.redis()
	if err != nil {
		return nil, err
	}
	return p.client(rdb, queue.Config{Prefix: p.setting("prefix")})
}

// client makes the library's client on rdb.
func (p *program) client(rdb redis.UniversalClient, cfg queue.Config) (*queue.Client, error) {
	client, err := queue.NewClient(rdb, cfg)
	if err != nil {
		return nil, usagef("", "%s", strings.TrimPrefix(err.Error(), "queue: config: "))
	}
	p.cleanup = append([]func() error{client.Close}, p.cleanup...)
	return client, nil
}

// redis returns a client of the server that flags and environment name.
func (p *program) redis() (redis.UniversalClient, error) {
	o, err := p.options()
	if err != nil {
		return nil, err
	}
	var rdb redis.UniversalClient
	switch {
	case o.MasterName != "":
		rdb = redis.NewFailoverClient(o.Failover())
	case o.IsClusterMode:
		rdb = redis.NewClusterClient(o.Cluster())
	default:
		simple := o.Simple()
		simple.Network = networkOf(simple.Addr)
		rdb = redis.NewClient(simple)
	}
	p.cleanup = append(p.cleanup, rdb.Close)
	return rdb, nil
}

func networkOf(addr string) string {
	if strings.HasPrefix(addr, "/") {
		return "unix"
	}
	return "tcp"
}

// options gathers flags and environment.
func (p *program) options() (*redis.UniversalOptions, error) {
	o := &redis.UniversalOptions{
		ClientName: "cyclone-cli", DialTimeout: dialTimeout, DialerRetries: dialAttempts, MaxRetries: 1,
		ContextTimeoutEnabled: true,
		// What these two would ask for is not in the minimal rules.
		DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	way, err := p.way()
	if err != nil {
		return nil, err
	}
	switch way {
	case "sentinel":
		return o, p.fromSentinels(o, addresses(p.setting("sentinel")))
	case "cluster":
		nodes := addresses(p.setting("cluster"))
		o.Addrs, o.IsClusterMode, p.target = nodes, true, "the cluster of "+strings.Join(nodes, ", ")
		return o, p.secure(o)
	}
	return o, p.fromURL(o)
}

// ways are the settings that say where the server is.
var ways = []string{"redis", "sentinel", "cluster"}

// way returns the one of them that is given; a flag wins over the environment.
func (p *program) way() (string, error) {
	for _, given := range []func(string) bool{p.flagSet, func(name string) bool { return p.setting(name) != "" }} {
		var found []string
		for _, name := range ways {
			if given(name) {
				found = append(found, name)
			}
		}
		if len(found) > 1 {
			return "", usagef("Give one of them, as a flag or in the environment.", "--%s exclude each other", strings.Join(found, " and --"))
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	return "redis", nil
}

func (p *program) fromSentinels(o *redis.UniversalOptions, addrs []string) (err error) {
	o.Addrs, o.MasterName = addrs, p.setting("master-name")
	if o.MasterName == "" {
		return usagef("Say --master-name NAME, as in the Sentinels' configuration.", "--sentinel needs the name of the primary")
	}
	if text := p.setting("db"); text != "" {
		if o.DB, err = strconv.Atoi(text); err != nil || o.DB < 0 {
			return usagef("", "--db is %q: must be a number", text)
		}
	}
	p.target = o.MasterName + " by the sentinels " + strings.Join(addrs, ", ")
	o.SentinelUsername = p.setting("sentinel-user")
	if o.SentinelPassword, err = p.secret("sentinel-password-file", "CYCLONE_SENTINEL_PASSWORD"); err != nil {
		return err
	}
	return p.secure(o)
}

// fromURL reads the URL, whose own options go-redis reads.
func (p *program) fromURL(o *redis.UniversalOptions) error {
	text := p.setting("redis")
	if text == "" {
		text = defaultURL
	}
	u, err := url.Parse(text)
	if err != nil {
		// The error would repeat the URL, password included.
		return usagef("It looks like redis://user@host:6379/0; characters such as @ or / in a password are written as %40, %2F.", "the Redis URL cannot be read")
	}
	if password, ok := u.User.Password(); ok && password != "" {
		p.secrets = append(p.secrets, password)
		if p.flagSet("redis") {
			return usagef("Everybody on this machine can read a command line. Put the URL into CYCLONE_REDIS, or the password into CYCLONE_PASSWORD or --password-file.",
				"--redis must not have a password in it")
		}
	}
	parsed, err := redis.ParseURL(text)
	if err != nil {
		return usagef("It looks like redis://user@host:6379/0, rediss://… for TLS, or unix:///path.", "Redis URL: %v", strings.TrimPrefix(err.Error(), "redis: "))
	}
	p.target = u.Redacted()
	o.Addrs, o.DB, o.Username, o.Password, o.TLSConfig = []string{parsed.Addr}, parsed.DB, parsed.Username, parsed.Password, parsed.TLSConfig
	o.Protocol, p.overTLS = parsed.Protocol, parsed.TLSConfig != nil
	return p.secure(o)
}

// secure adds user, password and TLS, which win over those of a URL.
func (p *program) secure(o *redis.UniversalOptions) error {
	if user := p.setting("user"); user != "" {
		o.Username = user
	}
	password, err := p.secret("password-file", "CYCLONE_PASSWORD")
	if err != nil {
		return err
	}
	if password != "" {
		o.Password = password
	}
	return p.tls(o)
}

// flagSet reports whether a flag stands on the command line itself.
func (p *program) flagSet(name string) bool { return p.global != nil && p.global.IsSet(name) }

func addresses(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// secret returns the password that a file, the environment or the user tells.
func (p *program) secret(fileFlag, variable string) (string, error) {
	file := p.setting(fileFlag)
	secret, _ := p.env(variable)
	ask := false
	if fileFlag == "password-file" {
		var err error
		if ask, err = p.on("ask-password"); err != nil {
			return "", err
		}
	}
	switch {
	case ask:
		var err error
		if secret, err = p.ask("Password: "); err != nil {
			return "", err
		}
	case file != "":
		b, err := os.ReadFile(file)
		if err != nil {
			return "", usagef("", "--%s: %v", fileFlag, err)
		}
		secret = strings.TrimRight(string(b), "\r\n")
	}
	if secret != "" {
		p.secrets = append(p.secrets, secret)
	}
	return secret, nil
}

// connected is the start of most commands: the client, and the arguments.
func (p *program) connected(c *urfave.Context, least, most int) (*queue.Client, []string, error) {
	given, err := args(c, least, most)
	if err != nil {
		return nil, nil, err
	}
	client, err := p.connect()
	return client, given, err
}
