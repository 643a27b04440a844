package bounds

import (
	"testing"

	"github.com/cyclone-queue/cyclone/internal/testserver"
)

func TestMain(m *testing.M) { testserver.Run(m) }
