"""Asks another accountant, an engine of turns.py.

    accounting.py dp_accounting|opake

A question is a setting (see ours/settings.go) with a method, rdp or pld: for its epsilon, or
with an epsilon above 0 for the noise multiplier that meets it. Timed is the upper end alone, the
one that a claim rests on; the lower end is computed once, outside the time. No two calls ask the
same, so that what was kept from one does not answer another: each changes the noise, or the
epsilon, by a millionth. The answer that is told is that of the question itself.
"""

import logging
import sys
import warnings

import accountants
import turns

STEP = 1e-6  # as in ours/account.go


class DPAccounting:
    def __init__(self):
        import dp_accounting
        from dp_accounting import pld, rdp

        self.calibrate = dp_accounting.calibrate_dp_mechanism
        self.accounts = {"rdp": rdp.RdpAccountant, "pld": pld.PLDAccountant}

    def upper(self, q):
        """Returns the upper end of epsilon or the noise; None where it has no such method."""
        if q["k"]:
            return None
        if q["epsilon"]:
            return self.calibrate(self.accounts[q["method"]], lambda x: accountants.dp_event(dict(q, sigma=x)), q["epsilon"], q["delta"])
        return accountants.dp_renyi(q) if q["method"] == "rdp" else accountants.dp_end(q, True)

    def lower(self, q):
        return accountants.dp_end(q, False) if q["method"] == "pld" and not q["epsilon"] else None


class Opake:
    def __init__(self):
        from opake.api.accounting import core, dpsgd

        self.core, self.dpsgd = core, dpsgd

    def process(self, q):
        return accountants.opake_process(self.dpsgd, q)

    def upper(self, q):
        if q["method"] != "pld":
            return None
        if not q["epsilon"]:
            return self.process(q).epsilon_at(q["delta"])
        budget = self.core.epsilon_budget(q["epsilon"], q["delta"])
        return self.core.calibrate(budget, lambda x: self.process(dict(q, sigma=x)), 0.3, 20.0).param

    def lower(self, _):
        return None


def main():
    warnings.simplefilter("ignore")
    logging.disable()
    peer = {"dp_accounting": DPAccounting, "opake": Opake}[sys.argv[1]]()
    said, calls = {}, 0

    def answer(q):
        seconds = q.pop("seconds")
        asked = "epsilon" if q["epsilon"] else "sigma"

        def once():
            nonlocal calls
            upper = peer.upper(dict(q, **{asked: q[asked] * (1 + STEP * calls)}))
            calls += 1
            said.setdefault("upper", upper and float(upper))
            return 1

        timing = turns.repeat(seconds, once)
        if said["upper"] is None:
            return {"error": "-"}
        if "lower" not in said:
            lower = peer.lower(q)
            said["lower"] = lower and float(lower)
        return {**timing, **said}

    turns.serve(answer)


if __name__ == "__main__":
    main()
