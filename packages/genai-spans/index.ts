export { type Attributes, ATTRIBUTES, CONVENTIONS, endpointOf, type Operation, providerOf, SPANS, wantsContent } from './names.ts';
export { activeSpan, isCollected, NO_SPAN, type Span, type SpanStart, startSpan, traced } from './spans.ts';
