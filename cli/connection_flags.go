package cli

import (
	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone/queue"
)

// Flags that stand under these titles in the help.
const (
	titleOutput     = "Output"
	titleConnection = "Connection (each flag also as an environment variable)"
)

func outputFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.BoolFlag{Name: "json", Category: titleOutput, Usage: "print JSON: one object, or one a line", DisableDefaultText: true},
		&urfave.StringFlag{Name: "color", Category: titleOutput, Value: "auto", Usage: "`WHEN` to use colours: auto, always, never; auto heeds NO_COLOR"},
	}
}

// setting is a connection flag and the variable that stands in for it.
type setting struct {
	flag, env, usage string
	isBool           bool
}

// settings are all the connection flags, in the order of the help.
var settings = []setting{
	{flag: "redis", env: "CYCLONE_REDIS", usage: "`URL` of the server: redis://, rediss:// or unix:// (default " + defaultURL + ")"},
	{flag: "sentinel", env: "CYCLONE_SENTINEL", usage: "`HOST:PORT,…` of Redis Sentinels, with --master-name"},
	{flag: "master-name", env: "CYCLONE_MASTER_NAME", usage: "`NAME` of the primary that Sentinel watches"},
	{flag: "cluster", env: "CYCLONE_CLUSTER", usage: "`HOST:PORT,…` of nodes of a Redis Cluster"},
	{flag: "db", env: "CYCLONE_DB", usage: "`NUMBER` of the database, with --sentinel"},
	{flag: "user", env: "CYCLONE_USER", usage: "`NAME` of the Redis user (ACL)"},
	{flag: "password-file", env: "CYCLONE_PASSWORD_FILE", usage: "`FILE` with the password; CYCLONE_PASSWORD holds the password itself"},
	{flag: "ask-password", env: "CYCLONE_ASK_PASSWORD", usage: "ask for the password in the terminal", isBool: true},
	{flag: "sentinel-user", env: "CYCLONE_SENTINEL_USER", usage: "`NAME` of the user at the Sentinels"},
	{flag: "sentinel-password-file", env: "CYCLONE_SENTINEL_PASSWORD_FILE", usage: "`FILE` with their password; or CYCLONE_SENTINEL_PASSWORD"},
	{flag: "tls", env: "CYCLONE_TLS", usage: "speak TLS, at least 1.2, and verify the server", isBool: true},
	{flag: "tls-ca", env: "CYCLONE_TLS_CA", usage: "`FILE` with the certificates to trust, instead of the system's"},
	{flag: "tls-cert", env: "CYCLONE_TLS_CERT", usage: "`FILE` with the client's certificate"},
	{flag: "tls-key", env: "CYCLONE_TLS_KEY", usage: "`FILE` with the client's key"},
	{flag: "tls-server-name", env: "CYCLONE_TLS_SERVER_NAME", usage: "`NAME` that the server's certificate must have"},
	{flag: "tls-insecure", env: "CYCLONE_TLS_INSECURE", usage: "do not verify the server: anybody can be it", isBool: true},
	{flag: "prefix", env: "CYCLONE_PREFIX", usage: "`NAME` that all keys begin with (default " + queue.DefaultPrefix + ")"},
}

// connectionFlags makes flags of the settings. The environment is read when a
// setting is asked for, see [program.setting].
func connectionFlags() []urfave.Flag {
	flags := make([]urfave.Flag, len(settings))
	for i, s := range settings {
		usage := s.usage + " [$" + s.env + "]"
		if s.isBool {
			flags[i] = &urfave.BoolFlag{Name: s.flag, Category: titleConnection, Usage: usage, DisableDefaultText: true}
		} else {
			flags[i] = &urfave.StringFlag{Name: s.flag, Category: titleConnection, Usage: usage}
		}
	}
	return flags
}
