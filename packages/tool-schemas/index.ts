export { ownNames, sentSchema, type SentSchema, type Work, workOfSource } from './sent-schema.ts';
export { withinBounds, type Bound } from './bounds.ts';
