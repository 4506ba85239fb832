//! The systems printed in F1.5, F1.6 and F1.10, typed from the paper. Where its type setting broke a word, a bracket or an
//! order, that alone is mended; each mended place is named.

use expect_test::expect;

use super::*;

/// F1.5: the loop that is marked becomes the three terms. As printed.
const OFFLOAD: &str = "For(Assignment($idx,0),$idx<$size,
Increment($idx),
$body,_MARK_CUDA($name)) ->
[_InitCuda,_InitCudaKernel($name),
_CallCudaKernel($name,$size,$params)]
[GetExtraParams($body,$params,$idx);
GenerateKernel1D($name, $params,
$body,$idx)]";

/// F1.6: the kernel. The first rule is lost in print; it is what the text says of it. `__global___` has a bar too many there.
const KERNEL: &str = "1. _CudaKernel1D($name,$params,$body,$idx) -> _CudaFunctionKernel($name,$params,
 [_PrepareIdx($idx,x):$body])
2. _CudaFunctionKernel($name,
 $params, $body) ->
 Function([ExternC,__global__],
 void,$name,$params,$body)
3. _PrepareIdx($idx,$coor) -> DeclarationAssignment(
 $idx,int,_CudaIdx($coor))
4. _CudaIdx($coor) ->
 Dot(blockIdx,$coor) *
 Dot(blockDim,$coor) +
 Dot(threadIdx,$coor)";

/// F1.10, 3.3. As printed.
const SHARED: &str = "1. Function($x, $y, parallelAdd,$z,[$b1:$b2]) -> Function($x, $y, parallelAdd1, $z,[SharedDecl:$b1:CopyBack($b2)])
2. SharedDecl -> ArrayDeclaration
 (localData,int, BLOCK_SIZE,
 __shared__)
3. Assignment (ArrayElement
 (outData,i), ArrayElement(inData,i)) -> Assignment
 (ArrayElement (localData
 ,tid),ArrayElement(inData,i))
4. PlusAssignment(ArrayElement
 (outData,i),ArrayElement(outData,i+
 s)) -> PlusAssignment
 (ArrayElement (localData,
 tid),ArrayElement (localData,
 tid+s))
5. CopyBack([$x:$y]) ->
 [$x:CopyBack($y)]
6. CopyBack(NIL) -> If
 (Equals(tid,0),Assignment(
 ArrayElement(outData,Dot
 (blockIdx,x)),ArrayElement
(localData,0)))";

/// F1.10, 3.4. As printed.
const NO_DIVERGENCE: &str = "If(Equals(tid % (2*s),0), PlusAssignment( ArrayElement (localData,
tid) ,ArrayElement(localData,tid+s)))
-> [DeclarationAssignment(index,int,2
* s * tid),If(index<Dot(blockDim,x),
PlusAssignment( ArrayElement( localData,index), ArrayElement( localData,
index+s)))]";

/// F1.10, 3.5. As printed.
const NO_CONFLICTS: &str = "1. For(DeclarationAssignment(s,int
    ,1),
    s<Dot(blockDim,x),MulAssignment
    (s,2), $body) ->
    For(DeclarationAssignment(s,int
    , Dot(blockDim,x)/2),s>0,
    RShiftAssignment(s,1),$body)
2. If(Equals(tid % (2*s),0),$body)
    -> If(tid < s,$body)";

/// F1.10, 3.6. As printed.
const FIRST_ADD: &str = "1. DeclarationAssignment(
        i,int,Dot(blockIdx,x) *
        Dot(blockDim,x) +
        Dot(threadIdx,x)) ->
        DeclarationAssignment(i,int,2*Dot(blockIdx,x) *
        Dot(blockDim,x) +
        Dot(threadIdx,x))
2. Assignment (ArrayElement (
        localData,tid), ArrayElement
(inData,i)) -> Assignment (
ArrayElement(localData,tid),
ArrayElement(inData,i)
    +ArrayElement(inData,i+
    Dot(blockDim,x)))
3. CallKernel(
    Shape(ARR_SIZE/BLOCK_SIZE,
    BLOCK_SIZE),parallelSum,[inData,outData]) -> CallKernel(
    Shape(ARR_SIZE/(2*
BLOCK_SIZE),BLOCK_SIZE),
parallelSum,[inData,outData])";

/// F1.10, 3.7. Mended: the first rule's second loop is printed twice over, `_Unroll[$x:$y]` lacks its parentheses, the
/// condition of rule 5 stands behind it. `_Unroll(NIL)`, which nothing removes in print, is rule 9.
const UNROLL: &str = "1. For(DeclarationAssignment(s,int,Dot(blockDim,x)/2),s>0,
        RShiftAssignment(s,1),$body) ->
        [For(DeclarationAssignment(s,int,Dot(blockDim,x)/2),s>32,
        RShiftAssignment(s,1),$body),_Unroll($body)]
2. _Unroll(If(tid<s,$body)) ->
        If(tid<32,_Unroll($body))
3. _Unroll([$x:$y]) ->
        [_Unroll($x):_Unroll($y)]
4. _Unroll(PlusAssignment($x,$y))
   ->
   _Unroll(PlusAssignment($x,$y),32)
5. _Unroll(PlusAssignment($x,$y),$n) [$n>1] -> [PlusAssignment(
 $x,_Replace($y,$n)),_Unroll(
 PlusAssignment($x,$y),$n/2)]
6. _Unroll(PlusAssignment($x,$y),1
) -> PlusAssignment(
 $x,_Replace($y,1))
7. _Replace(ArrayElement(localData
 ,tid+s),$n) -> ArrayElement(
 localData,tid+$n)
8. _Unroll(SyncThreads) -> NIL
9. _Unroll(NIL) -> NIL";

/// The kernel of F1.10, 3.2, as a term.
const TREE_SUM: &str = "Function([__global__],void,parallelAdd,[Declaration(inData,`int*`),Declaration(outData,`int*`)],[DeclarationAssignment(tid,int,Dot(threadIdx,x)),DeclarationAssignment(i,int,Dot(blockIdx,x)*Dot(blockDim,x)+Dot(threadIdx,x)),Assignment(ArrayElement(outData,i),ArrayElement(inData,i)),MethodCall(__syncthreads),For(DeclarationAssignment(s,int,1),s<Dot(blockDim,x),MulAssignment(s,2),[If(Equals(tid%(2*s),0),[PlusAssignment(ArrayElement(outData,i),ArrayElement(outData,i+s))]),MethodCall(__syncthreads)])])";

/// One system after another; each must change something.
fn chain(start: &str, systems: &[&str]) -> String {
    let mut term = start.to_owned();
    for rules in systems {
        let next = rewritten("TopDown", rules, &term);
        assert_ne!(next, term, "{rules}");
        term = next;
    }
    term
}

#[test]
fn the_marked_loop_becomes_three_terms() {
    let kernel = system("TopDown", KERNEL);
    let kernel = Arc::new(RuleSystem { name: "cuda-kernel".into(), ..(*kernel).clone() });
    let all: Systems = [(kernel.name.clone(), kernel)].into_iter().collect();
    let subject = subject("Function([],void,sort,[Declaration(toSort,`int*`),Declaration(j,int),Declaration(k,int)],[Declaration(i,int),For(Assignment(i,0),i<ARR_SIZE,Increment(i),[DeclarationAssignment(ixj,int,bit_xor(i,j)),If(ixj>i,[MethodCall(swap,toSort,i,ixj,k)])],_MARK_CUDA(bitonic_kernel))])");
    let out = run(&system("TopDown", OFFLOAD), &all, &subject, &subject.root, None, Limits::default());
    expect!["Function(NIL,void,sort,[Declaration(toSort,`int*`),Declaration(j,int),Declaration(k,int)],[Declaration(i,int),_InitCuda,_InitCudaKernel(bitonic_kernel),_CallCudaKernel(bitonic_kernel,ARR_SIZE,[Declaration(toSort,`int*`),Declaration(j,int),Declaration(k,int)])])"].assert_eq(&subject.print(&out.tree));
    let files: Vec<String> =
        out.emitted.iter().map(|e| format!("{}: {}", e.name, subject.print(&e.content))).collect();
    expect!["bitonic_kernel.cu: Function([ExternC,__global__],void,bitonic_kernel,[Declaration(toSort,`int*`),Declaration(j,int),Declaration(k,int)],[DeclarationAssignment(i,int,Dot(blockIdx,x)*Dot(blockDim,x)+Dot(threadIdx,x)),DeclarationAssignment(ixj,int,bit_xor(i,j)),If(ixj>i,[MethodCall(swap,toSort,i,ixj,k)])])"].assert_eq(&files.join("\n"));
}

#[test]
fn the_tree_sum_moves_to_shared_memory() {
    expect!["Function([__global__],void,parallelAdd1,[Declaration(inData,`int*`),Declaration(outData,`int*`)],[ArrayDeclaration(localData,int,BLOCK_SIZE,__shared__),DeclarationAssignment(tid,int,Dot(threadIdx,x)),DeclarationAssignment(i,int,Dot(blockIdx,x)*Dot(blockDim,x)+Dot(threadIdx,x)),Assignment(ArrayElement(localData,tid),ArrayElement(inData,i)),MethodCall(__syncthreads),For(DeclarationAssignment(s,int,1),s<Dot(blockDim,x),MulAssignment(s,2),[If(Equals(tid%(2*s),0),[PlusAssignment(ArrayElement(localData,tid),ArrayElement(localData,tid+s))]),MethodCall(__syncthreads)]),If(Equals(tid,0),[Assignment(ArrayElement(outData,Dot(blockIdx,x)),ArrayElement(localData,0))])])"].assert_eq(&chain(TREE_SUM, &[SHARED]));
}

#[test]
fn the_tree_sum_loses_its_divergent_branch() {
    expect!["Function([__global__],void,parallelAdd1,[Declaration(inData,`int*`),Declaration(outData,`int*`)],[ArrayDeclaration(localData,int,BLOCK_SIZE,__shared__),DeclarationAssignment(tid,int,Dot(threadIdx,x)),DeclarationAssignment(i,int,Dot(blockIdx,x)*Dot(blockDim,x)+Dot(threadIdx,x)),Assignment(ArrayElement(localData,tid),ArrayElement(inData,i)),MethodCall(__syncthreads),For(DeclarationAssignment(s,int,1),s<Dot(blockDim,x),MulAssignment(s,2),[DeclarationAssignment(index,int,2*s*tid),If(index<Dot(blockDim,x),[PlusAssignment(ArrayElement(localData,index),ArrayElement(localData,index+s))]),MethodCall(__syncthreads)]),If(Equals(tid,0),[Assignment(ArrayElement(outData,Dot(blockIdx,x)),ArrayElement(localData,0))])])"].assert_eq(&chain(TREE_SUM, &[SHARED, NO_DIVERGENCE]));
}

#[test]
fn the_tree_sum_is_unrolled() {
    expect!["Function([__global__],void,parallelAdd1,[Declaration(inData,`int*`),Declaration(outData,`int*`)],[ArrayDeclaration(localData,int,BLOCK_SIZE,__shared__),DeclarationAssignment(tid,int,Dot(threadIdx,x)),DeclarationAssignment(i,int,2*Dot(blockIdx,x)*Dot(blockDim,x)+Dot(threadIdx,x)),Assignment(ArrayElement(localData,tid),ArrayElement(inData,i)+ArrayElement(inData,i+Dot(blockDim,x))),MethodCall(__syncthreads),For(DeclarationAssignment(s,int,Dot(blockDim,x)/2),s>32,RShiftAssignment(s,1),[If(tid<s,[PlusAssignment(ArrayElement(localData,tid),ArrayElement(localData,tid+s))]),MethodCall(__syncthreads)]),If(tid<32,[PlusAssignment(ArrayElement(localData,tid),ArrayElement(localData,tid+32)),PlusAssignment(ArrayElement(localData,tid),ArrayElement(localData,tid+16)),PlusAssignment(ArrayElement(localData,tid),ArrayElement(localData,tid+8)),PlusAssignment(ArrayElement(localData,tid),ArrayElement(localData,tid+4)),PlusAssignment(ArrayElement(localData,tid),ArrayElement(localData,tid+2)),PlusAssignment(ArrayElement(localData,tid),ArrayElement(localData,tid+1))]),If(Equals(tid,0),[Assignment(ArrayElement(outData,Dot(blockIdx,x)),ArrayElement(localData,0))])])"].assert_eq(&chain(TREE_SUM, &[SHARED, NO_CONFLICTS, FIRST_ADD, UNROLL]));
}

#[test]
fn the_launch_has_half_the_blocks() {
    let launch = "CallKernel(Shape(ARR_SIZE/BLOCK_SIZE,BLOCK_SIZE,Empty,Empty),parallelSum,[inData,outData])";
    expect!["CallKernel(Shape(ARR_SIZE/(2*BLOCK_SIZE),BLOCK_SIZE),parallelSum,[inData,outData])"]
        .assert_eq(&chain(launch, &[FIRST_ADD]));
}
