create or replace function loom._kind_of_work(p_kind text) returns loom.work_kind
language plpgsql stable
as $$
declare
  v_kind loom.work_kind;
begin
  select * into v_kind from loom.work_kind where kind = p_kind;
  if v_kind.kind is null then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'p_kind', 'reason', 'is no kind of work')::text,
      hint = 'The kinds of work are rows of loom.work_kind.';
  end if;
  return v_kind;
end
$$;
comment on function loom._kind_of_work(text) is 'A kind of work with its waits and bounds. LM001 for one that is not known.';
