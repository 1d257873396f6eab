"""What the tests share: builders, fakes, strategies and the contract of a ledger."""
