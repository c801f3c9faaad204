create or replace function loom._embedding_complete(p_model text) returns boolean
language plpgsql stable
as $$
declare
  v_org text := '';
begin
  loop
    select org into v_org from loom.embedding_due where model = p_model and org > v_org order by org limit 1;
    if not found then
      return true;
    end if;
    perform from loom.embedding_due where model = p_model and org = v_org and due_at < 'infinity' limit 1;
    if found then
      perform from loom.org_setting where org = v_org and not model_calls;
      if not found then
        return false;
      end if;
    end if;
  end loop;
end
$$;
comment on function loom._embedding_complete(text) is
  'Whether no text waits for a vector of the model, but for those given up and those of orgs whose model calls are off.';
