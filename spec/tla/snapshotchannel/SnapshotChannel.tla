--------------------------- MODULE SnapshotChannel ---------------------------
\* Models: how a snapshot is published, and how cursors follow and wait for the next.
\* Go: pkg/discovery/directory.go Directory.
\* Go: pkg/discovery/batch.go batch.
\* Go: pkg/discovery/session.go Session.
\* Go: pkg/discovery/cursor.go Cursor.
\* Grain: one action is one operation on what goroutines share: the mutex, the pointer
\* to what is published, the event that something newer is.
\* Left out: what is in a snapshot, which Directory has; cursors that several goroutines
\* use, which their documentation forbids; All, which is Next again and again.
EXTENDS Integers, FiniteSets, TLC

CONSTANTS Publishers, \* goroutines that change the directory or close it
          Cursors,    \* goroutines with a cursor each
          Wanted,     \* what WaitFor may be asked for, as revisions from the first
          After,      \* what CursorAfter may be given, likewise
          Revisions,  \* how many are left at first
          Bug         \* the planted fault, "None" for none

ASSUME /\ IsFiniteSet(Publishers) /\ IsFiniteSet(Cursors)
       /\ Revisions \in Nat
       /\ Wanted \cup After \subseteq 0..Revisions

VARIABLES mu,       \* who holds the field mu, "" for nobody
          revision, \* that of the current snapshot, from the first one on
          closed,   \* the field closed of what is published
          fired,    \* those published whose event has happened, by their numbers
          pc,       \* per caller: the step of the call that comes next
          call,     \* per publisher: the call it is in, "" for none
          was,      \* per publisher: the number of what it supersedes
          seen,     \* per cursor: the field seen, -1 before the first
          ended,    \* per cursor: the field ended
          want,     \* per cursor: the revision it waits for, -1 for a newer one
          saw,      \* per cursor: the number of what it loaded and waits on
          context,  \* per cursor: that of its calls
          last      \* the last step: operation, caller, argument, result once the call has ended
published == <<mu, revision, closed, fired>>
publisher == <<call, was>>
cursor == <<seen, ended, want, saw, context>>
vars == <<published, pc, publisher, cursor, last>>
state == <<published, pc, publisher, cursor>> \* what steps depend on: a VIEW for big bounds

Callers == Publishers \cup Cursors

\* What is published last is numbered by how many were before it.
Number == IF closed THEN revision + 1 ELSE revision

TypeOK == /\ mu \in Publishers \cup {""}
          /\ revision \in 0..Revisions
          /\ closed \in BOOLEAN
          /\ fired \subseteq 0..Revisions
          /\ pc \in [Callers -> {"", "load", "store", "unlock", "fire", "refused", "wait"}]
          /\ call \in [Publishers -> {"", "Publish", "Close"}]
          /\ was \in [Publishers -> 0..Revisions]
          /\ seen \in [Cursors -> -1..Revisions]
          /\ ended \in [Cursors -> BOOLEAN]
          /\ want \in [Cursors -> -1..Revisions]
          /\ saw \in [Cursors -> 0..(Revisions + 1)]
          /\ context \in [Cursors -> {"live", "over"}]
-----------------------------------------------------------------------------
Init == /\ mu = "" /\ revision = 0 /\ closed = FALSE /\ fired = {}
        /\ pc = [c \in Callers |-> ""]
        /\ call = [p \in Publishers |-> ""]
        /\ was = [p \in Publishers |-> 0]
        /\ seen = [c \in Cursors |-> -1]
        /\ ended = [c \in Cursors |-> FALSE]
        /\ want = [c \in Cursors |-> -1]
        /\ saw = [c \in Cursors |-> 0]
        /\ context = [c \in Cursors |-> "live"]
        /\ last = [op |-> "Init", by |-> "", of |-> "", arg |-> 0, res |-> ""]

Step(op, c, arg, next, res) == /\ pc' = [pc EXCEPT ![c] = next]
                               /\ last' = [op |-> op, by |-> c, of |-> "", arg |-> arg, res |-> res]

\* Go: (*Session).Replace, the lock.
PublishLock(p) == /\ pc[p] = ""
                  /\ mu = "" \/ Bug = "PublishesUnlocked"
                  /\ mu' = p
                  /\ call' = [call EXCEPT ![p] = "Publish"]
                  /\ Step("PublishLock", p, 0, "load", "")
                  /\ UNCHANGED <<revision, closed, fired, was, cursor>>

\* Go: (*Directory).Close, the lock.
CloseLock(p) == /\ pc[p] = ""
                /\ mu = ""
                /\ mu' = p
                /\ call' = [call EXCEPT ![p] = "Close"]
                /\ Step("CloseLock", p, 0, "load", "")
                /\ UNCHANGED <<revision, closed, fired, was, cursor>>

Refused(p) == \/ closed /\ (call[p] = "Close" \/ Bug # "PublishesAfterTheEnd")
              \/ call[p] = "Publish" /\ revision = Revisions

\* Go: (*Directory).apply, the load; in Close, that of end.
ChangeLoad(p) == /\ pc[p] = "load"
                 /\ p \in Publishers
                 /\ was' = [was EXCEPT ![p] = IF Refused(p) THEN @ ELSE Number]
                 /\ fired' = IF Bug = "FiresBeforeTheStore" /\ ~Refused(p) THEN fired \cup {Number} ELSE fired
                 /\ Step("ChangeLoad", p, 0, IF Refused(p) THEN "refused" ELSE "store", "")
                 /\ UNCHANGED <<mu, revision, closed, call, cursor>>

\* Go: (*Directory).apply, the unlock after a refusal; in Close, that of end.
ChangeRefused(p) == /\ pc[p] = "refused"
                    /\ mu' = ""
                    /\ call' = [call EXCEPT ![p] = ""]
                    /\ Step("ChangeRefused", p, 0, "", CASE call[p] = "Close" -> ""
                                                         [] closed -> "closed"
                                                         [] OTHER -> "exhausted")
                    /\ UNCHANGED <<revision, closed, fired, was, cursor>>

\* Go: (*Directory).apply, the store; in Close, that of end.
ChangeStore(p) == /\ pc[p] = "store"
                  /\ Bug # "WaitsForReaders" \/ \A c \in Cursors : seen[c] >= revision
                  /\ revision' = IF call[p] = "Publish" THEN was[p] + 1 ELSE revision
                  /\ closed' = (closed \/ call[p] = "Close")
                  /\ Step("ChangeStore", p, 0, "unlock", "")
                  /\ UNCHANGED <<mu, fired, publisher, cursor>>

\* Go: (*Directory).apply, the unlock; in Close, that of end.
ChangeUnlock(p) == /\ pc[p] = "unlock"
                   /\ mu' = ""
                   /\ Step("ChangeUnlock", p, 0, "fire", "")
                   /\ UNCHANGED <<revision, closed, fired, publisher, cursor>>

Silent(p) == \/ Bug = "PublishWakesNobody" /\ call[p] = "Publish"
             \/ Bug = "CloseWakesNobody" /\ call[p] = "Close"

\* Go: (*Directory).change, the event; in Close, its own.
ChangeFire(p) == /\ pc[p] = "fire"
                 /\ fired' = IF Silent(p) THEN fired ELSE fired \cup {was[p]}
                 /\ call' = [call EXCEPT ![p] = ""]
                 /\ was' = [was EXCEPT ![p] = 0]
                 /\ Step("ChangeFire", p, 0, "", IF call[p] = "Publish" THEN ToString(was[p] + 1) ELSE "")
                 /\ UNCHANGED <<mu, revision, closed, cursor>>

\* Go: (*Directory).Cursor. The cursor that was there is dropped.
NewCursor(c) == /\ pc[c] = ""
                /\ seen' = [seen EXCEPT ![c] = -1]
                /\ ended' = [ended EXCEPT ![c] = FALSE]
                /\ Step("NewCursor", c, 0, "", "")
                /\ UNCHANGED <<published, publisher, want, saw, context>>

\* Go: (*Directory).CursorAfter. The cursor that was there is dropped.
NewCursorAfter(c, r) == /\ pc[c] = ""
                        /\ seen' = [seen EXCEPT ![c] = r]
                        /\ ended' = [ended EXCEPT ![c] = FALSE]
                        /\ Step("NewCursorAfter", c, r, "", "")
                        /\ UNCHANGED <<published, publisher, want, saw, context>>

Fresh(c) == IF Bug = "TakesAnyOther" THEN seen[c] # revision ELSE seen[c] < revision

\* The call waits on what it has loaded.
Wait(op, c, arg, r) ==
  /\ want' = [want EXCEPT ![c] = r]
  /\ \E n \in Number..(IF Bug = "LoadsTwice" /\ revision < Revisions THEN Number + 1 ELSE Number) :
       saw' = [saw EXCEPT ![c] = IF Bug = "KeepsItsLoad" /\ pc[c] = "load" THEN @ ELSE n]
  /\ Step(op, c, arg, "wait", "")

\* The call returns.
Return(op, c, arg, res) == /\ want' = [want EXCEPT ![c] = -1]
                           /\ saw' = [saw EXCEPT ![c] = 0]
                           /\ Step(op, c, arg, "", res)

\* The load of Next, and what it makes of it. After a fault it looks at what it had
\* loaded before it waited.
Looks(op, c) ==
  LET fresh == Fresh(c) /\ (Bug # "KeepsItsLoad" \/ pc[c] = "")
      over == closed /\ (Bug # "KeepsItsLoad" \/ pc[c] = "")
      ends == over /\ (~fresh \/ Bug = "EndsBeforeTheSnapshot")
  IN /\ seen' = [seen EXCEPT ![c] = CASE ends /\ Bug = "EndForgets" -> -1
                                      [] fresh /\ ~ends -> revision
                                      [] OTHER -> @]
     /\ ended' = [ended EXCEPT ![c] = IF fresh THEN @ ELSE ends]
     /\ CASE ends -> Return(op, c, 0, "ended")
          [] fresh /\ ~ends -> Return(op, c, 0, ToString(IF Bug = "TellsTheFormer" THEN seen[c] ELSE revision))
          [] OTHER -> Wait(op, c, 0, -1)

\* Go: (*Cursor).Next, the first load.
NextLoad(c) == /\ pc[c] = ""
               /\ Looks("NextLoad", c)
               /\ UNCHANGED <<published, publisher, context>>

\* Go: (*Cursor).Next, the load after a wait.
NextAgain(c) == /\ pc[c] = "load"
                /\ want[c] = -1
                /\ Looks("NextAgain", c)
                /\ UNCHANGED <<published, publisher, context>>

\* The load of WaitFor, and what it makes of it.
Asks(op, c, r) == CASE revision >= r \/ (Bug = "ReturnsWhenWoken" /\ pc[c] = "load") -> Return(op, c, r, ToString(revision))
                    [] revision < r /\ closed -> Return(op, c, r, "ended")
                    [] OTHER -> Wait(op, c, r, r)

\* Go: (*Directory).WaitFor, the first load.
WaitForLoad(c, r) == /\ pc[c] = ""
                     /\ Asks("WaitForLoad", c, r)
                     /\ UNCHANGED <<published, publisher, seen, ended, context>>

\* Go: (*Directory).WaitFor, the load after a wait.
WaitForAgain(c) == /\ pc[c] = "load"
                   /\ want[c] # -1
                   /\ Asks("WaitForAgain", c, want[c])
                   /\ UNCHANGED <<published, publisher, seen, ended, context>>

\* Go: (*Cursor).Next, the wait that the event ends; WaitFor has the same.
WaitFired(c) == /\ pc[c] = "wait"
                /\ saw[c] \in fired
                /\ saw' = [saw EXCEPT ![c] = IF Bug = "KeepsItsLoad" THEN @ ELSE 0]
                /\ Step("WaitFired", c, 0, "load", "")
                /\ UNCHANGED <<published, publisher, seen, ended, want, context>>

\* Go: (*Cursor).Next, the wait that the context ends; WaitFor has the same.
WaitCancelled(c) == /\ pc[c] = "wait"
                    /\ context[c] = "over"
                    /\ fired' = IF Bug = "CancelWakesAll" THEN fired \cup {saw[c]} ELSE fired
                    /\ Return("WaitCancelled", c, 0, "cancelled")
                    /\ UNCHANGED <<mu, revision, closed, publisher, seen, ended, context>>

\* Go: (*Cursor).Poll.
Poll(c) == /\ pc[c] = ""
           /\ seen' = [seen EXCEPT ![c] = IF Fresh(c) THEN revision ELSE @]
           /\ ended' = [ended EXCEPT ![c] = IF Fresh(c) THEN @ ELSE closed]
           /\ Step("Poll", c, 0, "", IF Fresh(c) THEN ToString(revision) ELSE "none")
           /\ UNCHANGED <<published, publisher, want, saw, context>>

World(op, c) == /\ last' = [op |-> op, by |-> "", of |-> c, arg |-> 0, res |-> ""]
                /\ UNCHANGED pc

\* World: somebody cancels the context of a cursor's calls.
Cancel(c) == /\ context[c] = "live"
             /\ context' = [context EXCEPT ![c] = "over"]
             /\ World("Cancel", c)
             /\ UNCHANGED <<published, publisher, seen, ended, want, saw>>

\* World: the next calls get another context.
Renew(c) == /\ context[c] = "over"
            /\ pc[c] = ""
            /\ context' = [context EXCEPT ![c] = "live"]
            /\ World("Renew", c)
            /\ UNCHANGED <<published, publisher, seen, ended, want, saw>>

Next == \/ \E p \in Publishers : \/ PublishLock(p)
                                 \/ CloseLock(p)
                                 \/ ChangeLoad(p)
                                 \/ ChangeRefused(p)
                                 \/ ChangeStore(p)
                                 \/ ChangeUnlock(p)
                                 \/ ChangeFire(p)
        \/ \E c \in Cursors : \/ NewCursor(c)
                              \/ \E r \in After : NewCursorAfter(c, r)
                              \/ NextLoad(c)
                              \/ NextAgain(c)
                              \/ \E r \in Wanted : WaitForLoad(c, r)
                              \/ WaitForAgain(c)
                              \/ WaitFired(c)
                              \/ WaitCancelled(c)
                              \/ Poll(c)
                              \/ Cancel(c)
                              \/ Renew(c)

\* A call that has begun goes on. The steps of a change wait for nobody; a wait goes
\* on once its event has happened, which stays so. Nobody has to begin a call, and
\* no context has to end.
Spec == /\ Init
        /\ [][Next]_vars
        /\ \A p \in Publishers : /\ WF_vars(ChangeLoad(p))
                                 /\ WF_vars(ChangeRefused(p))
                                 /\ WF_vars(ChangeStore(p))
                                 /\ WF_vars(ChangeUnlock(p))
                                 /\ WF_vars(ChangeFire(p))
        /\ \A c \in Cursors : /\ WF_vars(NextAgain(c))
                              /\ WF_vars(WaitForAgain(c))
                              /\ WF_vars(WaitFired(c))

\* For the graph: the last step is forgotten before the next one, or each state would
\* come once for every way to it.
Forget == /\ last.op # "Forget"
          /\ last' = [op |-> "Forget", by |-> "", of |-> "", arg |-> 0, res |-> ""]
          /\ UNCHANGED <<published, pc, publisher, cursor>>
GraphSpec == Init /\ [][Forget \/ (last.op \in {"Init", "Forget"} /\ Next)]_vars
-----------------------------------------------------------------------------
\* Claim: Every change, batch or list that changes anything raises the revision by
\* exactly one; all others leave it.
StoreIsTheNext ==
  [][revision' = IF last'.op = "ChangeStore" /\ call[last'.by] = "Publish" THEN revision + 1 ELSE revision]_vars

\* Claim: Close keeps the last snapshot, wakes everybody who waits, and refuses every
\* later change.
ClosedIsFinal == [][closed => closed' /\ revision' = revision]_vars

\* Whoever is woken finds something newer.
FiredIsSuperseded == \A n \in fired : n < Number

\* Claim: A Cursor that is dropped, or whose wait was cancelled, leaves nothing behind.
CursorsLeaveNothing == [][last'.by \in Cursors => UNCHANGED <<published, publisher>>]_vars

\* Claim: A Cursor never returns a snapshot that is not newer than the one before.
\* Claim: A Cursor returns the newest snapshot, and skips all that were published in
\* between.
NewerAndNewest ==
  [][\A c \in Cursors : \/ seen'[c] = seen[c]
                        \/ last'.op \in {"NewCursor", "NewCursorAfter"}
                        \/ seen'[c] > seen[c] /\ seen'[c] = revision]_vars
Told == last'.op \in {"NextLoad", "NextAgain", "Poll"} /\ last'.res \notin {"", "ended", "none"}
ReturnsWhatItSaw == [][Told => last'.res = ToString(seen'[last'.by]) /\ seen'[last'.by] # seen[last'.by]]_vars

\* Claim: A Cursor returns the last snapshot of a closed Directory before it ends, and
\* then stays at its end.
LastBeforeTheEnd ==
  [][last'.op \in {"NextLoad", "NextAgain"} /\ last'.res = "ended" => closed /\ seen[last'.by] >= revision]_vars
StaysAtTheEnd ==
  [][last'.op \in {"NextLoad", "Poll"} /\ ended[last'.by] => last'.res \in {"ended", "none"} /\ ended'[last'.by]]_vars

\* What WaitFor promises of its answers.
WaitsForTheRevision ==
  [][last'.op \in {"WaitForLoad", "WaitForAgain"} /\ last'.res # "" =>
       IF last'.res = "ended" THEN closed /\ revision < last'.arg ELSE revision >= last'.arg]_vars

\* Claim: Next waits until there is a newer snapshot, and misses none that is published
\* while it begins to wait.
\* Claim: WaitFor returns once the revision is reached, however the wait and the
\* publication race.
Due(c) == pc[c] # "" /\ IF want[c] = -1 THEN seen[c] < revision ELSE revision >= want[c]
NoLostWakeUp == \A c \in Cursors : Due(c) ~> pc[c] = ""

\* The same for the end.
EndWakesEverybody == \A c \in Cursors : closed /\ pc[c] # "" ~> pc[c] = ""

\* Claim: A Cursor that does not read delays nobody.
ChangesEnd == \A p \in Publishers : pc[p] # "" ~> pc[p] = ""
-----------------------------------------------------------------------------
Witness_BothFireLate == ~(\A p \in Publishers : pc[p] = "fire")
Witness_SkipsOne == ~(last.op = "NextAgain" /\ last.res = "2")
Witness_EndsAWait == ~(last.op = "NextAgain" /\ last.res = "ended")
Witness_EndsAWaitFor == ~(last.op = "WaitForAgain" /\ last.res = "ended")
Witness_WaitsAgain == ~(last.op = "WaitForAgain" /\ last.res = "")
Witness_EitherEndsTheWait == ~(\E c \in Cursors : pc[c] = "wait" /\ saw[c] \in fired /\ context[c] = "over")
Witness_GoesOnAfterACancel == ~(last.op = "NextLoad" /\ last.res = "1" /\ \E c \in Cursors : context[c] = "over")
Witness_RefusedAtTheEnd == last.res # "closed"
Witness_RefusedExhausted == last.res # "exhausted"
Witness_AheadOfAll == ~(last.op = "NextAgain" /\ last.res = "")
=============================================================================
