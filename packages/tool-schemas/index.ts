export { ownNames, sentSchema, type SentSchema, type Work, workOfSource } from './sent-schema.ts';
export { withinBounds, type Bound } from './bounds.ts';
export { type CheckedValue, valueCheck, type ValueCheck } from './value-check.ts';
