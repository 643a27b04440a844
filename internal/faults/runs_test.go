package faults_test

import "testing"

// Workers are killed again and again while they drive runs of many steps, and some
// are frozen past their leases; scripts are forgotten all the time.
func TestKilledWorkersOfRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	eachSeed(t, func(t *testing.T, seed uint64) {
		c := runCampaign(t, experiment{}, *voyages, seed, killWorkers, freezeWorkers, flushScripts)
		if c.kills < 3 || len(c.zombies) == 0 || c.total("lost") == 0 || c.looks.partial == 0 || c.ledger.count("have", true) == 0 {
			t.Errorf("want enough of everything")
		}
		if c.unsure > 0 {
			t.Errorf("%d enqueues are unsure, want none", c.unsure)
		}
	})
}

// Redis is killed and started again while workers drive runs of many steps, and they
// are killed too.
func TestKilledRedisOfRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	eachSeed(t, func(t *testing.T, seed uint64) {
		server := []string{"--appendonly", "yes", "--appendfsync", "everysec", "--dir", memoryDir(t)}
		c := runCampaign(t, experiment{server: server}, *voyages, seed, killWorkers, killServer)
		if c.kills < 3 || c.servers < 2 {
			t.Errorf("want enough of everything")
		}
	})
}

// Replies and requests are lost while workers drive runs of many steps: nothing runs
// twice.
func TestLostMessagesOfRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	eachSeed(t, func(t *testing.T, seed uint64) {
		c := runCampaign(t, experiment{proxied: true, lease: patient}, *voyages/2, seed, loseMessages)
		if c.hits < 20 || c.unsure > 0 || c.total("lost") > 0 {
			t.Errorf("%d calls were cut, want enough; %d enqueues are unsure and %d leases were lost, want none", c.hits, c.unsure, c.total("lost"))
		}
		if ran, recorded := c.ledger.count("ran", false), c.ledger.count("have", false); ran != recorded {
			t.Errorf("%d recorded steps ran and %d were recorded", ran, recorded)
		}
	})
}
