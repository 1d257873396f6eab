// Command credentials writes the keys of a test plane into the folder it is given:
// ca.crt, server.crt, server.key (loopback and in-cluster names),
// kubelet-client.crt, kubelet-client.key (the API server's, towards a kubelet) and
// service-accounts.key (signs service account tokens).
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: credentials FOLDER")
	}
	folder := os.Args[1]
	ca, caKey := authority(), key()
	caDER := sign(ca, ca, caKey, caKey)
	write(folder, "ca.crt", "CERTIFICATE", caDER)
	for name, subject := range map[string]*x509.Certificate{"server": server(), "kubelet-client": client()} {
		own := key()
		write(folder, name+".crt", "CERTIFICATE", sign(subject, ca, own, caKey))
		write(folder, name+".key", "EC PRIVATE KEY", marshal(own))
	}
	write(folder, "service-accounts.key", "EC PRIVATE KEY", marshal(key()))
}

func authority() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "kwicket test plane"},
		SubjectKeyId:          []byte{1},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(1, 0, 0),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
}

func server() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "kube-apiserver"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)},
	}
}

func client() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(3),
		Subject:      pkix.Name{CommonName: "kube-apiserver", Organization: []string{"system:masters"}},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

func key() *ecdsa.PrivateKey {
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	return made
}

func sign(subject, issuer *x509.Certificate, subjectKey, issuerKey *ecdsa.PrivateKey) []byte {
	der, err := x509.CreateCertificate(rand.Reader, subject, issuer, &subjectKey.PublicKey, issuerKey)
	check(err)
	return der
}

func marshal(private *ecdsa.PrivateKey) []byte {
	der, err := x509.MarshalECPrivateKey(private)
	check(err)
	return der
}

func write(folder, name, kind string, der []byte) {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	check(os.WriteFile(filepath.Join(folder, name), text, 0o600))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
