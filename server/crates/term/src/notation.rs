//! The term notation of F1.1: `For(Assignment(k,2), k<=ARR_SIZE, Assignment(k,k<<1), [ … ])`, printed and read back.
