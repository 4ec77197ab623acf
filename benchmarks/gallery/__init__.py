"""The gallery: every theorem of the certificate table as a game that was played, its curve under its bound."""
