//! The offload of bitonic sort by the printed rules, system by system, on the C program: what F1.5 to F1.7 say of each is there.

use base::Budget;
use expect_test::{expect, Expect};
use front::{Language, Memo, Options, Parsed};
use rewrite::rules::{run, Ended, Ground, Limits, Others, Outcome, RuleSet, Subject, Together};

const SORT: &str = "#define ARR_SIZE 64
int toSort[ARR_SIZE];
void sort(void)
{
    int k, j, i;
    for (k = 2; k <= ARR_SIZE; k <<= 1)
        for (j = k >> 1; j > 0; j >>= 1)
            #pragma warpwright offload(bitonic_kernel)
            for (i = 0; i < ARR_SIZE; i++) {
                int ixj = i ^ j;
                if (ixj > i && (((i & k) == 0) == (toSort[i] > toSort[ixj]))) {
                    int t = toSort[i];
                    toSort[i] = toSort[ixj];
                    toSort[ixj] = t;
                }
            }
}
";

/// The terms after each of the systems, one after the other.
fn after(systems: &[&str]) -> Vec<String> {
    let parsed = Parsed::parse(Language::C, SORT);
    let unit = front::lower(&parsed, &Options::default(), &mut Memo::new());
    let program = analysis::Program::of(unit.items.iter().map(|i| &i.body));
    let position = unit.items.iter().position(|i| &*i.name == "sort").expect("a function");
    let item = &unit.items[position];
    let budget = Budget::with_cancel(u64::MAX, base::CancelToken::new());
    let facts = analysis::analyze(&item.body, &program, analysis::SAVE, &budget);
    let (start, together) = (item.span.start, Together::default());
    let ground = Ground {
        body: &item.body,
        program: &program,
        facts: &facts,
        budget: &budget,
        text: SORT,
        start,
        together: &together,
        others: Others { items: &unit.items, item: position },
    };
    let set = RuleSet::shipped();
    let mut subject = Subject::of(&item.body, SORT, start, false, false);
    let mut tree = subject.root.clone();
    let mut out = Vec::new();
    for name in systems {
        let (_, system) = set.find(name).expect("a system");
        let done = run(system, &set.systems, &subject, &tree, Some(ground), Limits::default());
        let Outcome { tree: next, emitted, ended, types, .. } = done;
        assert_eq!(ended, Ended::Done);
        (tree, subject.types) = (next, types);
        let files = emitted.iter().map(|e| format!("\n# {}\n{}", e.name, subject.print(&e.content)));
        out.push(subject.print(&tree) + &files.collect::<String>());
    }
    out
}

fn check(said: &str, expected: Expect) {
    // one statement a line is read more easily
    let lines = said.replace("),_", "),\n_").replace("),For(", "),\nFor(").replace("[For(", "[\nFor(");
    expected.assert_eq(&format!("{lines}\n"));
}

#[test]
fn bitonic_sort_is_offloaded_step_by_step() {
    let steps = after(&["offload-calls", "offload-starts", "copies-split", "copies-grow", "copies-open"]);
    let [calls, starts, split, grown, open] = steps.as_slice() else { panic!("{steps:?}") };
    check(
        calls,
        expect![[r#"
            Function(NIL,void,sort,NIL,[Declaration(k,int),Declaration(j,int),Declaration(i,int),
            For(Assignment(k,2),k<=ARR_SIZE,LShiftAssignment(k,1),[
            For(Assignment(j,k>>1),j>0,RShiftAssignment(j,1),[_InitCuda,_InitCudaKernel(bitonic_kernel),
            _CallCudaKernel(bitonic_kernel,ARR_SIZE,[Declaration(toSort,`int*`),Declaration(j,int),Declaration(k,int)])])])])
            # bitonic_kernel.cu
            Function([ExternC,__global__],void,bitonic_kernel,[Declaration(toSort,`int*`),Declaration(j,int),Declaration(k,int)],[DeclarationAssignment(i,int,Dot(blockIdx,x)*Dot(blockDim,x)+Dot(threadIdx,x)),DeclarationAssignment(ixj,int,bit_xor(i,j)),If(And(ixj>i,Equals(Equals(i&k,0),ArrayElement(toSort,i)>ArrayElement(toSort,ixj))),[DeclarationAssignment(t,int,ArrayElement(toSort,i)),Assignment(ArrayElement(toSort,i),ArrayElement(toSort,ixj)),Assignment(ArrayElement(toSort,ixj),t)])])
        "#]],
    );
    check(
        starts,
        expect![[r#"
            Function(NIL,void,sort,NIL,[_InitCuda,_InitCudaKernel(bitonic_kernel),Declaration(k,int),Declaration(j,int),Declaration(i,int),
            For(Assignment(k,2),k<=ARR_SIZE,LShiftAssignment(k,1),[
            For(Assignment(j,k>>1),j>0,RShiftAssignment(j,1),[_CallCudaKernel(bitonic_kernel,ARR_SIZE,[Declaration(toSort,`int*`),Declaration(j,int),Declaration(k,int)])])])])
        "#]],
    );
    check(
        split,
        expect![[r#"
            Function(NIL,void,sort,NIL,[_InitCuda,_InitCudaKernel(bitonic_kernel),Declaration(k,int),Declaration(j,int),Declaration(i,int),
            For(Assignment(k,2),k<=ARR_SIZE,LShiftAssignment(k,1),[
            For(Assignment(j,k>>1),j>0,RShiftAssignment(j,1),[_OnDevice(toSort,NIL,[_SetParameters(bitonic_kernel,[Declaration(toSort,`int*`),Declaration(j,int),Declaration(k,int)]),
            _ExecuteKernel(bitonic_kernel,ARR_SIZE)],NIL)])])])
        "#]],
    );
    check(
        grown,
        expect![[r#"
            Function(NIL,void,sort,NIL,[_InitCuda,_InitCudaKernel(bitonic_kernel),Declaration(k,int),Declaration(j,int),Declaration(i,int),
            _OnDevice(toSort,NIL,[
            For(Assignment(k,2),k<=ARR_SIZE,LShiftAssignment(k,1),[
            For(Assignment(j,k>>1),j>0,RShiftAssignment(j,1),[_SetParameters(bitonic_kernel,[Declaration(toSort,`int*`),Declaration(j,int),Declaration(k,int)]),
            _ExecuteKernel(bitonic_kernel,ARR_SIZE)])])],NIL)])
        "#]],
    );
    check(
        open,
        expect![[r#"
            Function(NIL,void,sort,NIL,[_InitCuda,_InitCudaKernel(bitonic_kernel),Declaration(k,int),Declaration(j,int),Declaration(i,int),
            _CopyHostToDevice(toSort),
            For(Assignment(k,2),k<=ARR_SIZE,LShiftAssignment(k,1),[
            For(Assignment(j,k>>1),j>0,RShiftAssignment(j,1),[_SetParameters(bitonic_kernel,[Declaration(toSort,`int*`),Declaration(j,int),Declaration(k,int)]),
            _ExecuteKernel(bitonic_kernel,ARR_SIZE)])]),
            _CopyDeviceToHost(toSort),
            _FreeCuda(toSort)])
        "#]],
    );
}
