export { type Codec, MAX_QUEUED_BYTES } from './frames.ts';
export { Liveness } from './liveness.ts';
export { capOutput } from './output-cap.ts';
export type { Cause } from './message.ts';
export { createPeer, type Incoming, type Peer } from './peer.ts';
export { floodLimit, logAllowance } from './rate-limits.ts';
