/** The file in the root that appears where a loader runs what a skill holds. */
export const MARK = 'it-ran';
