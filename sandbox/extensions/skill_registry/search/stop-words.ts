/** English words that say how a sentence is built or that someone is asking, but never what about. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about above after again all also am an and any are as at be because been before being below between both but by
  can cannot could did do does doing done down during each either else etc ever every few for from further get gets getting give
  given gives go going gonna got had has have having he hello help her here hers hey hi him his how however i if in into is it its itself
  just kindly let lets like lot many may maybe me might mine more most much must my myself need needs neither no nor not now of off
  ok okay on once one only or other our ours out over own per please really same see shall she should since so some
  something somehow still such than thank thanks that the their theirs them then there these they thing things this those through
  to too under until up upon us use used user uses using very via want wanted wants was way we well were what whatever when where whether which while
  who whom whose why will with within without would yes yet you your yours yourself
  s t d m ain aren couldn didn doesn don hadn hasn haven isn ll mustn re shouldn ve wasn weren won wouldn`.split(/\s+/),
);
