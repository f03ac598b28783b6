export { type Attributes, ATTRIBUTES, CONVENTIONS, endpointOf, type Operation, providerOf, SPANS, wantsContent } from './names.ts';
export {
  activeSpan,
  activeTraceparent,
  carried,
  isCollected,
  NO_SPAN,
  partsUnder,
  type Span,
  type SpanStart,
  startSpan,
  traced,
  underTraceparent,
} from './spans.ts';
