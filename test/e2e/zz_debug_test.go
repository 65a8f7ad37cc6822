//go:build unix

package e2e_test

import "os"

func (w *world) dump() {
	b, _ := os.ReadFile(w.auditLog())
	_ = os.WriteFile("/tmp/e2e-apiserver.log", b, 0o644)
	b, _ = os.ReadFile(w.operator.Info().LogFile)
	_ = os.WriteFile("/tmp/e2e-operator.log", b, 0o644)
}
