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
		if c.kills < 3 || c.frozen == 0 || c.total("lost") == 0 || c.looks.partial == 0 || c.ledger.count("have", true) == 0 {
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
