----------------------------- MODULE Quarantine -----------------------------
\* Models: an endpoint set aside after failures in a row, and its return.
\* Go: pkg/dispatch/quarantine.go Quarantine, Permit.
\* Grain: one action is one call, because each is one critical section.
\* Left out: QuarantineConfig.Off, and the ward with the end of a removed endpoint,
\* which Ward has. Time is what has passed since the endpoint was
\* set aside, in ticks; the clock stands still while it does not matter.
\* Drawn: aside, failures.
EXTENDS Integers, FiniteSets

CONSTANTS Calls,      \* permits that may be out at once
          Failures,   \* QuarantineConfig.Failures
          Backoff,    \* QuarantineConfig.Backoff, in ticks
          MaxBackoff, \* QuarantineConfig.MaxBackoff, in ticks
          Epochs,     \* how often the endpoint may be set aside
          StepsBack,  \* how often the clock may step back
          Bug         \* the planted fault, "None" for none

ASSUME /\ IsFiniteSet(Calls) /\ Calls # {}
       /\ {Failures, Backoff, MaxBackoff, Epochs} \subseteq Nat \ {0}
       /\ Backoff <= MaxBackoff
       /\ StepsBack \in Nat

VARIABLES epoch,    \* the field epoch
          failures, \* the field failures
          rounds,   \* the field rounds
          aside,    \* the field aside
          age,      \* now minus the field since; 0 while not aside
          wait,     \* the field wait; 0 while not aside
          permit,   \* per call: the epoch of its permit, -1 for none
          back,     \* how often the clock may still step back
          last      \* the last call: operation, whose permit, outcome, draw and result
vars == <<epoch, failures, rounds, aside, age, wait, permit, back, last>>
state == <<epoch, failures, rounds, aside, age, wait>>

Outcomes == {"success", "failure", "overloaded", "cancelled"}
Failed(outcome) == outcome \in {"failure", "overloaded"}

Min(a, b) == IF a < b THEN a ELSE b
RECURSIVE Doubled(_)
Doubled(n) == IF n = 0 THEN Backoff ELSE Min(2 * Doubled(n - 1), MaxBackoff)

\* The times aside that the jitter may draw from a backoff.
Jittered(backoff) == (backoff - backoff \div 2)..backoff

TypeOK == /\ epoch \in 0..Epochs
          /\ failures \in 0..(Failures + Epochs - 1)
          /\ rounds \in 0..Epochs
          /\ aside \in BOOLEAN
          /\ wait \in 0..MaxBackoff
          /\ age \in -MaxBackoff..MaxBackoff
          /\ permit \in [Calls -> -1..Epochs]
          /\ back \in 0..StepsBack
-----------------------------------------------------------------------------
Say(op, call, outcome, draw, res) ==
  last' = [op |-> op, call |-> call, outcome |-> outcome, draw |-> draw, res |-> res]

Init == /\ epoch = 0 /\ failures = 0 /\ rounds = 0
        /\ aside = FALSE /\ age = 0 /\ wait = 0
        /\ permit = [c \in Calls |-> -1]
        /\ back = StepsBack
        /\ last = [op |-> "Init", call |-> "", outcome |-> "", draw |-> 0, res |-> 0]

\* Go: (*Quarantine).Admit, while the endpoint is not aside.
Admit(c) == /\ permit[c] = -1
            /\ ~aside \/ Bug = "AdmitsAside"
            /\ permit' = [permit EXCEPT ![c] = epoch]
            /\ Say("Admit", c, "", 0, 1)
            /\ UNCHANGED <<state, back>>

\* Go: (*Quarantine).Admit, while it is.
AdmitRefused(c) == /\ permit[c] = -1
                   /\ aside
                   /\ Say("AdmitRefused", c, "", 0, 0)
                   /\ UNCHANGED <<state, permit, back>>

Stale(c) == permit[c] # epoch /\ Bug # "IgnoresEpoch"
Observed(outcome) == outcome # "cancelled" \/ Bug = "CountsCancelled"
Enough == failures + 1 >= Failures

\* Go: (*Quarantine).Report, of a result that says nothing.
ReportIgnored(c, outcome) == /\ permit[c] # -1
                             /\ Stale(c) \/ ~Observed(outcome)
                             /\ permit' = [permit EXCEPT ![c] = -1]
                             /\ Say("ReportIgnored", c, outcome, 0, 0)
                             /\ UNCHANGED <<state, back>>

\* Go: (*Quarantine).Report, of a success.
ReportSuccess(c) == /\ permit[c] # -1
                    /\ ~Stale(c)
                    /\ failures' = IF Bug = "KeepsCounting" THEN failures ELSE 0
                    /\ rounds' = IF Bug = "NeverForgives" THEN rounds ELSE 0
                    /\ permit' = [permit EXCEPT ![c] = -1]
                    /\ Say("ReportSuccess", c, "success", 0, 0)
                    /\ UNCHANGED <<epoch, aside, age, wait, back>>

\* Go: (*Quarantine).Report, of a failure that is not enough.
ReportFailure(c, outcome) == /\ permit[c] # -1
                             /\ ~Stale(c)
                             /\ Failed(outcome) \/ (outcome = "cancelled" /\ Observed(outcome))
                             /\ ~Enough
                             /\ failures' = failures + 1
                             /\ permit' = [permit EXCEPT ![c] = -1]
                             /\ Say("ReportFailure", c, outcome, 0, 0)
                             /\ UNCHANGED <<epoch, rounds, aside, age, wait, back>>

\* Go: (*Quarantine).Report, of the failure that sets the endpoint aside. The
\* draw is what the jitter takes off the backoff.
ReportSetsAside(c, outcome) ==
  /\ permit[c] # -1
  /\ ~Stale(c)
  /\ Failed(outcome) \/ (outcome = "cancelled" /\ Observed(outcome))
  /\ Enough
  /\ epoch < Epochs
  /\ failures' = failures + 1
  /\ epoch' = epoch + 1
  /\ rounds' = rounds + 1
  /\ aside' = TRUE
  /\ age' = 0
  /\ wait' \in IF Bug = "JitterFromZero" THEN 0..Doubled(rounds) ELSE Jittered(Doubled(rounds))
  /\ permit' = [permit EXCEPT ![c] = -1]
  /\ Say("ReportSetsAside", c, outcome, Doubled(rounds) - wait', 1)
  /\ UNCHANGED back

\* Go: (*Quarantine).Return, while the endpoint is not aside.
ReturnIdle == /\ ~aside
              /\ Say("ReturnIdle", "", "", 0, 0)
              /\ UNCHANGED <<state, permit, back>>

\* Go: (*Quarantine).Return, too early.
ReturnEarly == /\ aside
               /\ age < wait
               /\ Bug # "ReturnsEarly"
               /\ age' = IF age < 0 /\ Bug # "TrustsTheClock" THEN 0 ELSE age
               /\ Say("ReturnEarly", "", "", 0, wait - age')
               /\ UNCHANGED <<epoch, failures, rounds, aside, wait, permit, back>>

\* Go: (*Quarantine).Return, once the time aside is over.
ReturnEnds == /\ aside
              /\ age >= wait \/ Bug = "ReturnsEarly"
              /\ Bug # "NeverReturns"
              /\ aside' = FALSE
              /\ age' = 0
              /\ wait' = 0
              /\ IF Bug = "ReturnForgets" THEN failures' = 0 /\ rounds' = 0 ELSE UNCHANGED <<failures, rounds>>
              /\ Say("ReturnEnds", "", "", 0, 0)
              /\ UNCHANGED <<epoch, permit, back>>

\* World: the clock goes on.
Tick == /\ aside
        /\ age < wait
        /\ age' = age + 1
        /\ Say("Tick", "", "", 0, 0)
        /\ UNCHANGED <<epoch, failures, rounds, aside, wait, permit, back>>

\* World: the clock steps back, by more than the longest time aside.
StepBack == /\ aside
            /\ back > 0
            /\ age >= 0
            /\ age' = age - MaxBackoff
            /\ back' = back - 1
            /\ Say("StepBack", "", "", 0, 0)
            /\ UNCHANGED <<epoch, failures, rounds, aside, wait, permit>>

Next == \/ \E c \in Calls : \/ Admit(c)
                            \/ AdmitRefused(c)
                            \/ \E o \in Outcomes : ReportIgnored(c, o)
                            \/ ReportSuccess(c)
                            \/ \E o \in Outcomes : ReportFailure(c, o)
                            \/ \E o \in Outcomes : ReportSetsAside(c, o)
        \/ ReturnIdle
        \/ ReturnEarly
        \/ ReturnEnds
        \/ Tick
        \/ StepBack

\* Time passes, and whoever looks after the endpoint asks again and again; both
\* stay possible while the endpoint is aside.
Spec == Init /\ [][Next]_vars /\ WF_vars(Tick) /\ WF_vars(ReturnEnds)
-----------------------------------------------------------------------------
Reported(c) == permit[c] # -1 /\ permit'[c] = -1
Counts(c, outcome) == Reported(c) /\ permit[c] = epoch /\ outcome # "cancelled"

\* Claim: Admit refuses exactly while the endpoint is aside.
AdmitRefusesExactlyAside == [][/\ last'.op = "Admit" => ~aside
                               /\ last'.op = "AdmitRefused" => aside]_vars

\* Claim: A result of a call that was admitted before the endpoint was last set
\* aside changes nothing.
StaleResultChangesNothing ==
  [][\A c \in Calls : Reported(c) /\ permit[c] # epoch => UNCHANGED state]_vars

\* Claim: A cancelled call changes nothing.
CancelledChangesNothing ==
  [][\A c \in Calls : Reported(c) /\ last'.outcome = "cancelled" => UNCHANGED state]_vars

\* Claim: The configured number of failures in a row sets the endpoint aside; a
\* success in between starts the count again.
FailuresInARowSetAside ==
  [][\A c \in Calls : Counts(c, last'.outcome) =>
       IF Failed(last'.outcome)
       THEN (~aside /\ aside' <=> failures + 1 >= Failures \/ rounds > 0) /\ (~aside' => failures' = failures + 1)
       ELSE failures' = 0 /\ ~aside']_vars

\* Claim: After a return the first failure sets the endpoint aside again, for
\* twice the time up to the longest; the first success forgets that.
FirstFailureAfterReturnSetsAside ==
  [][/\ \A c \in Calls : Counts(c, last'.outcome) =>
          IF Failed(last'.outcome)
          THEN rounds > 0 => aside' /\ rounds' = rounds + 1 /\ wait' \in Jittered(Doubled(rounds))
          ELSE rounds' = 0
     /\ rounds' < rounds => last'.op = "ReportSuccess"]_vars

\* Claim: Each time aside is between half of the backoff and the whole of it.
TimeAsideIsJittered == aside => 2 * wait >= Doubled(rounds - 1) /\ wait <= Doubled(rounds - 1)

\* Claim: Return brings the endpoint back once its time aside is over, and not
\* before.
ReturnsOnlyOnceOver == [][aside /\ ~aside' => age >= wait]_vars

\* Claim: A clock that steps back costs at most one more time aside.
StepBackCostsOneWait == last.op = "ReturnEarly" => last.res <= wait

ComesBack == aside ~> ~aside
-----------------------------------------------------------------------------
Witness_SetAside == ~aside
Witness_SetAsideAgain == rounds < 2
Witness_LongestBackoff == wait < MaxBackoff
Witness_StaleResult == ~(last.op = "ReportIgnored" /\ last.outcome = "failure")
Witness_ClockBehind == ~(aside /\ age < 0)
Witness_SavedByASuccess == ~(last.op = "ReportSuccess" /\ \E c \in Calls : permit[c] = 1)
=============================================================================
